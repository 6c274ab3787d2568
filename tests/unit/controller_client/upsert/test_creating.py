from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.errors import ConfigError, ConflictError
from controller_client.models import Schema, TableConfig
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.creating import UpsertTable, check_creatable, plan_upsert_table
from controller_client.upsert.settings import UpsertSettings, is_upsert

_DECODER = "org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder"
Change = Callable[[dict[str, Any], dict[str, Any]], None]


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    schema = {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "user", "dataType": "STRING"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
            {"name": "ratio", "dataType": "DOUBLE"},
        ],
        "dateTimeFieldSpecs": [
            {"name": "at", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:HOURS"},
            {"name": "day", "dataType": "LONG", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"},
        ],
    }
    table = {
        "tableName": "t",
        "tableType": "REALTIME",
        "segmentsConfig": {"retentionTimeUnit": "DAYS", "retentionTimeValue": "14", "schemaName": "t"},
        "tableIndexConfig": {
            "noDictionaryColumns": ["ratio"],
            "streamConfigs": {
                "streamType": "kafka",
                "stream.kafka.topic.name": "t",
                "stream.kafka.consumer.type": "LowLevel",
                "stream.kafka.decoder.class.name": _DECODER,
            },
        },
        "fieldConfigList": [{"name": "ratio", "encodingType": "RAW"}],
        "metadata": {"customConfigs": {"owner": "us"}},
    }
    return schema, table


def plan(change: Change | None = None, key: str = "user", timestamp: str = "at") -> UpsertTable:
    schema, table = documents()
    if change:
        change(schema, table)
    return plan_upsert_table(
        Schema.from_json(schema),
        TableConfig.from_json(table),
        primary_key=key.split(","),
        timestamp_column=timestamp,
    )


def test_columns_indexes_and_settings_are_added() -> None:
    planned = plan()
    own = {field.name: (field.data_type, field.default_null_value) for field in planned.schema.fields[-5:]}
    assert {name: own[name] for name in SYSTEM_COLUMNS} == dict.fromkeys(SYSTEM_COLUMNS, ("LONG", -1))
    document = planned.table.to_json()
    assert document["tableIndexConfig"]["noDictionaryColumns"] == ["ratio", *SYSTEM_COLUMNS]
    assert [each["name"] for each in document["fieldConfigList"]] == ["ratio", *SYSTEM_COLUMNS]
    assert document["metadata"]["customConfigs"]["owner"] == "us"
    assert is_upsert(planned.table)
    assert UpsertSettings.of(planned.table) == UpsertSettings(("user",), "at", "t_REALTIME.updates")


@pytest.mark.parametrize("own", [{}, {"updates_topic": "versions", "order": "newest"}])
def test_planning_is_idempotent(own: dict[str, Any]) -> None:
    schema, table = documents()
    given: dict[str, Any] = {"primary_key": ["user"], "timestamp_column": "at"}
    once = plan_upsert_table(Schema.from_json(schema), TableConfig.from_json(table), **given, **own)
    assert plan_upsert_table(once.schema, once.table, **given) == once


def index(name: str, value: Any) -> Change:
    return lambda _schema, table: table["tableIndexConfig"].update({name: value})


def top(name: str, value: Any) -> Change:
    return lambda _schema, table: table.update({name: value})


def stream(name: str, value: Any) -> Change:
    return lambda _schema, table: table["tableIndexConfig"]["streamConfigs"].update({name: value})


def retention(days: str) -> Change:
    return lambda _schema, table: table["segmentsConfig"].update(retentionTimeValue=days)


def _in_steps_of_five_minutes(schema: dict[str, Any], table: dict[str, Any]) -> None:
    schema["dateTimeFieldSpecs"][1]["format"] = "5:MINUTES:EPOCH"
    table["segmentsConfig"]["timeColumnName"] = "day"


# test_ingestion.py has the other changes of messages.
_DERIVED = {"transformConfigs": [{"columnName": "user", "transformFunction": "upper(u)"}]}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (top("tableType", "OFFLINE"), "not a realtime table"),
        (stream("streamType", "kinesis"), "of type 'kinesis'"),
        (stream("stream.kafka.consumer.type", "highlevel"), "consumer type is highlevel"),
        (stream("stream.kafka.consumer.type", "highlevel,simple"), "consumer type is highlevel"),
        (top("upsertConfig", {"mode": "FULL"}), "upsertConfig"),
        (top("dedupConfig", {"dedupEnabled": True}), "dedupConfig"),
        (index("sortedColumn", ["user"]), "sortedColumn"),
        (index("loadMode", "HEAP"), "loadMode is HEAP"),
        (index("enableDefaultStarTree", True), "star-tree"),
        (index("starTreeIndexConfigs", [{}]), "star-tree"),
        (index("aggregateMetrics", True), "several messages into one row"),
        (top("ingestionConfig", _DERIVED), "the key user comes from a transform"),
        (top("segmentsConfig", {"schemaName": "t"}), r"retention of t_REALTIME is \(no value\) \(no unit\)"),
        (retention("0"), "is 0 DAYS"),
        (retention("soon"), "is soon DAYS"),
        (_in_steps_of_five_minutes, "steps of 5 MINUTES"),
    ],
)
def test_tables_that_cannot_be_upsert_tables(change: Change, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        plan(change)


@pytest.mark.parametrize(
    ("key", "timestamp", "text"),
    [
        ("nope", "at", "nope is not a column"),
        ("tags", "at", "tags is a STRING, with several values"),
        ("ratio", "at", "ratio is a DOUBLE"),
        ("user,user", "at", "twice"),
        ("user", "user", "timestamp user is a STRING"),
        ("user", "day", "1:DAYS:EPOCH"),
    ],
)
def test_unsuitable_columns(key: str, timestamp: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        plan(key=key, timestamp=timestamp)


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        plan(index("sortedColumn", ["user"]), key="nope")
    assert "sortedColumn" in str(caught.value)
    assert "nope" in str(caught.value)


def test_a_filter_gives_a_warning() -> None:
    change = top("ingestionConfig", {"filterConfig": {"filterFunction": "strcmp(user, 'x')"}})
    assert "replaces" in plan(change).warnings[0]
    assert plan().warnings == ()


class Registered:
    """A cluster with one table and its schema; stands in for a client."""

    def __init__(self, schema: Schema, table: TableConfig) -> None:
        self._schema, self._table = schema, table
        self.tables = SimpleNamespace(
            exists=lambda name: name == table.name_with_type,
            get=lambda _name: table,
            physical_tables=lambda _name: [],
        )
        self.schemas = SimpleNamespace(list=lambda: [schema.schema_name], get=lambda _name: schema)
        self.config = SimpleNamespace(url="http://c:9000")


def test_a_table_that_an_earlier_release_has_created_is_the_same() -> None:
    planned = plan()
    document = {**planned.table.to_json(), "tableName": "t_REALTIME"}  # as Pinot returns it
    custom = document["metadata"]["customConfigs"]
    del custom["upsert.format"]
    custom["upsert.retentionMs"] = "1209600000"
    client: Any = Registered(planned.schema, TableConfig.from_json(document))
    assert check_creatable(client, planned) == (False, False)
    custom["upsert.timestampColumn"] = "day"
    client = Registered(planned.schema, TableConfig.from_json(document))
    with pytest.raises(ConflictError, match=r"customConfigs\.upsert\.timestampColumn"):
        check_creatable(client, planned)
