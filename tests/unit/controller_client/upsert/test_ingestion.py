"""Changes that a table's config makes to messages and that the key coordinator does not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.upsert.creating import plan_upsert_table
from controller_client.upsert.ingestion import IngestionFindings, check_ingestion
from controller_client.upsert.requirements import check_requirements
from controller_client.upsert.settings import UpsertSettings
from tests.unit.controller_client.upsert.test_creating import documents

_AVRO = "org.apache.pinot.plugin.inputformat.avro"
_PLAIN = f"{_AVRO}.SimpleAvroMessageDecoder"
_CONFLUENT = f"{_AVRO}.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder"
_JSON = "org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder"
_PROPERTY = "stream.kafka.decoder.prop."


def table_of(
    ingestion: Mapping[str, Any], decoder: str = _JSON, properties: Mapping[str, str] | None = None
) -> TableConfig:
    _, table = documents()
    table["segmentsConfig"]["timeColumnName"] = "at"
    table["tableIndexConfig"]["streamConfigs"] |= {
        "stream.kafka.decoder.class.name": decoder,
        **{f"{_PROPERTY}{name}": value for name, value in (properties or {}).items()},
    }
    return TableConfig.from_json({**table, "ingestionConfig": dict(ingestion)})


def schema_of(
    user: Mapping[str, Any] | None = None, note: Mapping[str, Any] | None = None, key: str = "user"
) -> Schema:
    schema, _ = documents()
    columns = {key: user or {}, "note": note or {}}
    schema["dimensionFieldSpecs"] = [
        {"name": name, "dataType": "STRING", **more} for name, more in columns.items()
    ]
    return Schema.from_json(schema)


def settings_of(key: str = "user") -> UpsertSettings:
    return UpsertSettings((key,), "at", "t_REALTIME.updates")


def found(
    ingestion: Mapping[str, Any] | None = None,
    schema: Schema | None = None,
    decoder: str = _JSON,
    properties: Mapping[str, str] | None = None,
) -> IngestionFindings:
    return check_ingestion(
        schema or schema_of(), table_of(ingestion or {}, decoder, properties), settings_of()
    )


def transform(column: str) -> dict[str, Any]:
    return {"transformConfigs": [{"columnName": column, "transformFunction": "upper(x)"}]}


def test_an_ordinary_table_has_no_findings() -> None:
    none = IngestionFindings((), ())
    assert found() == none
    assert check_ingestion(schema_of(), table_of({}, _PLAIN, {"schema": "{}"}), settings_of()) == none
    registry = {
        "schema.registry.rest.url": "http://r",
        "schema.registry.basic.auth.user.info": "a:b",
        "schema.registry.basic.auth.credentials.source": "USER_INFO",
    }
    assert found(None, None, _CONFLUENT, registry) == none
    harmless = {"transformConfigs": [], "segmentTimeValueCheck": False, "rowTimeValueCheck": False}
    assert found(harmless) == none
    assert found(None, None, _PLAIN, {"enableLogicalTypes": "false", "leading.bytes.to.strip": "0"}) == none


@pytest.mark.parametrize(
    ("ingestion", "text"),
    [
        (transform("user"), "the key user comes from a transform"),
        (transform("at"), "the timestamp at comes from a transform"),
        ({"rowTimeValueCheck": True, "continueOnError": True}, "replaces the timestamp at with a default"),
        ({"complexTypeConfig": {"fieldsToUnnest": ["a"]}}, "several rows from a message"),
        ({"complexTypeConfig": {"prefixesToRename": {"before.": ""}}}, "the key user comes from"),
        ({"complexTypeConfig": {"prefixesToRename": {"person": "us"}}}, "the key user comes from"),
        ({"complexTypeConfig": {"delimiter": "se"}}, "the key user comes from"),
        (
            {"enrichmentConfigs": [{"properties": {"fieldToFunctionMap": {"user": "upper(user)"}}}]},
            "the key user is named in ingestionConfig.enrichmentConfigs",
        ),
        (
            {"schemaConformingTransformerConfig": {"columnNameToJsonKeyPathMap": {"at": "a.b"}}},
            "the timestamp at is named in ingestionConfig.schemaConformingTransformerConfig",
        ),
    ],
)
def test_settings_that_change_the_key_or_time_are_refused(ingestion: Mapping[str, Any], text: str) -> None:
    assert any(text in each for each in found(ingestion).refusals)


@pytest.mark.parametrize(
    ("ingestion", "text"),
    [
        ({"filterConfig": {"filterFunction": "strcmp(user, 'x')"}}, "filterConfig: a dropped row"),
        (transform("note"), "transforms of note"),
        ({"continueOnError": True}, "queries never see it"),
        ({"rowTimeValueCheck": True}, "rowTimeValueCheck: a dropped row"),
        ({"complexTypeConfig": {"prefixesToRename": {"other.": "x."}}}, "ingestionConfig.complexTypeConfig"),
        ({"enrichmentConfigs": [{"properties": {"fields": ["note"]}}]}, "ingestionConfig.enrichmentConfigs"),
        ({"schemaConformingTransformerV2Config": {"a": 1}}, "schemaConformingTransformerV2Config"),
    ],
)
def test_settings_that_may_be_wrong_give_a_warning(ingestion: Mapping[str, Any], text: str) -> None:
    findings = found(ingestion)
    assert findings.refusals == ()
    assert [text in each for each in findings.warnings] == [True]


def test_transforms_give_a_warning_whatever_is_done_on_errors() -> None:
    # Pinot 0.11 accepts continueOnError but ignores it.
    warnings = found({**transform("note"), "continueOnError": True}).warnings
    assert ["transforms of note" in each for each in warnings] == [True, False]


def test_columns_of_the_schema() -> None:
    assert (
        "transformFunction in the schema"
        in found(schema=schema_of({"transformFunction": "f(x)"})).refusals[0]
    )
    for strategy in ("ERROR", "SUBSTITUTE_DEFAULT_VALUE", "NO_ACTION"):
        schema = schema_of({"maxLength": 20, "maxLengthExceedStrategy": strategy})
        assert strategy in found(schema=schema).refusals[0]
    cut = schema_of({"maxLength": 20, "maxLengthExceedStrategy": "TRIM_LENGTH"})
    assert found(schema=cut) == IngestionFindings((), ())
    other = found(schema=schema_of(note={"maxLengthExceedStrategy": "ERROR"}))
    assert (other.refusals, len(other.warnings)) == ((), 1)
    substituted = found(schema=schema_of(note={"maxLengthExceedStrategy": "SUBSTITUTE_DEFAULT_VALUE"}))
    assert substituted == IngestionFindings((), ())
    derived = found(schema=schema_of(note={"transformFunction": "f(x)"}))
    assert (derived.refusals, "transforms of note" in derived.warnings[0]) == ((), True)


@pytest.mark.parametrize("name", ["__key", "__header$id", "__metadata$offset"])
def test_a_key_of_the_kafka_record_is_refused(name: str) -> None:
    findings = check_ingestion(schema_of(key=name), table_of({}), settings_of(name))
    assert "comes from the Kafka record" in findings.refusals[0]


@pytest.mark.parametrize(
    ("decoder", "properties", "text"),
    [
        ("org.apache.pinot.plugin.ProtoBufMessageDecoder", {}, "the decoder ProtoBufMessageDecoder"),
        ("", {}, "cannot read messages of the decoder \\(none\\)"),
        (_JSON, {"recordExtractorClass": "x.Y"}, "recordExtractorClass"),
        (_PLAIN, {"leading.bytes.to.strip": "5"}, "does not strip bytes"),
        (_PLAIN, {"enableLogicalTypes": "true"}, "logical types"),
        (_CONFLUENT, {"enableLogicalTypes": "TRUE"}, "logical types"),
    ],
)
def test_unsupported_decoders_are_refused(decoder: str, properties: dict[str, str], text: str) -> None:
    # By create, and by the checks at a key coordinator's start.
    table = table_of({}, decoder, properties)
    with pytest.raises(ConfigError, match=text):
        plan_upsert_table(schema_of(), table, primary_key=["user"], timestamp_column="at")
    with pytest.raises(ConfigError, match=text):
        check_requirements(schema_of(), table, settings_of())


def test_a_warning_names_unknown_decoder_properties_without_their_values() -> None:
    properties = {"schema.registry.ssl.truststore.password": "secret"}
    findings = found(None, None, _CONFLUENT, properties)
    assert findings.refusals == ()
    assert "schema.registry.ssl.truststore.password is not supported" in findings.warnings[0]
    assert "secret" not in findings.warnings[0]
