"""Checks that Pinot stores the same values of a message as the key coordinator reads; needs no cluster.

Both read the input topic independently. The key coordinator does not see how a table's config changes a
message in Pinot: if that changed the key or the time, the wrong rows would be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.upsert.settings import UpsertSettings

__all__ = [
    "CONFLUENT_AVRO",
    "DECODER",
    "DECODER_PROPERTY",
    "JSON_DECODERS",
    "PLAIN_AVRO",
    "IngestionFindings",
    "check_ingestion",
]

DECODER = "stream.kafka.decoder.class.name"
DECODER_PROPERTY = "stream.kafka.decoder.prop."
JSON_DECODERS = ("KafkaJSONMessageDecoder", "JSONMessageDecoder")
PLAIN_AVRO = "SimpleAvroMessageDecoder"
CONFLUENT_AVRO = "KafkaConfluentSchemaRegistryAvroMessageDecoder"

_EXTRACTORS = ("recordExtractorClass", "recordExtractorConfigClass")
_KNOWN_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(JSON_DECODERS, ()),
    PLAIN_AVRO: ("schema",),
    CONFLUENT_AVRO: (
        "schema",
        "schema.registry.rest.url",
        "schema.registry.basic.auth.user.info",
        "schema.registry.basic.auth.credentials.source",
    ),
}
_OF_KAFKA = ("__header$", "__metadata$")
"""Columns with these prefixes, and ``__key``, come from the Kafka record rather than its value."""
_FIELD_GROUPS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
_CUT = "TRIM_LENGTH"
_DROPPED = "a dropped row still replaces the previous row of its key, so the key has no row"


@dataclass(frozen=True)
class IngestionFindings:
    """The effects of a table's config and schema on messages.

    Attributes:
        refusals: Settings with which Pinot stores another key or time than the key coordinator reads.
        warnings: Settings with which it may, or drops rows that have replaced others.
    """

    refusals: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Columns:
    """The columns that the key coordinator reads: role by name."""

    roles: Mapping[str, str]
    fields: Mapping[str, Mapping[str, Any]]
    """All columns of the schema, as defined there."""

    def named_in(self, names: Iterable[str]) -> list[str]:
        """Return those among the names, in the form ``the key user``."""
        wanted = set(names)
        return [f"{role} {name}" for name, role in self.roles.items() if name in wanted]


def check_ingestion(schema: Schema, table: TableConfig, settings: UpsertSettings) -> IngestionFindings:
    """Compare what Pinot stores of a message with what the key coordinator reads.

    Args:
        schema: The table's schema.
        table: Its config.
        settings: Its upsert settings.
    """
    document = schema.to_json()
    fields = {each["name"]: each for group in _FIELD_GROUPS for each in document.get(group) or ()}
    time_role = {settings.timestamp_column: "the timestamp"}
    columns = _Columns({**dict.fromkeys(settings.primary_key, "the key"), **time_role}, fields)
    config = table.to_json().get("ingestionConfig") or {}
    findings = [
        *_of_schema(columns),
        *_of_transforms(config, columns),
        *_of_dropped_rows(config, columns, table),
        *_of_nested(config, columns),
        *_of_decoder(table),
    ]
    return IngestionFindings(
        tuple(text for is_wrong, text in findings if is_wrong),
        tuple(text for is_wrong, text in findings if not is_wrong),
    )


_Found = Iterator[tuple[bool, str]]
"""Whether the setting is refused, and the message."""


def _refused(text: str) -> tuple[bool, str]:
    return True, text


def _warned(text: str) -> tuple[bool, str]:
    return False, text


def _of_schema(columns: _Columns) -> _Found:
    for name, role in columns.roles.items():
        field = columns.fields.get(name, {})
        if field.get("transformFunction"):
            yield _refused(
                f"{role} {name} has a transformFunction in the schema: it must be a field of the messages"
            )
        if name == "__key" or name.startswith(_OF_KAFKA):
            yield _refused(f"{role} {name} comes from the Kafka record: it must be a field of the messages")
    for name, field in columns.fields.items():
        strategy = str(field.get("maxLengthExceedStrategy") or _CUT).upper()
        if name in columns.roles and field.get("dataType") == "STRING" and strategy != _CUT:
            yield _refused(
                f"{columns.roles[name]} {name} has the maxLengthExceedStrategy {strategy}: the "
                f"key coordinator truncates longer values, like {_CUT}"
            )
        elif name not in columns.roles and strategy == "ERROR":
            yield _warned(f"maxLengthExceedStrategy ERROR of {name}: {_DROPPED}")


def _of_transforms(config: Mapping[str, Any], columns: _Columns) -> _Found:
    derived = [
        str(each.get("columnName"))
        for each in config.get("transformConfigs") or ()
        if each.get("transformFunction")
    ]
    for column in columns.named_in(derived):
        yield _refused(f"{column} comes from a transform: it must be a field of the messages")
    of_schema = [name for name, field in columns.fields.items() if field.get("transformFunction")]
    others = sorted({*derived, *of_schema} - columns.roles.keys())
    if others:
        yield _warned(
            f"transforms of {', '.join(others)}: Pinot drops a row for which one fails, unless "
            f"continueOnError is set, which Pinot 0.11 does not support; {_DROPPED}"
        )


def _of_dropped_rows(config: Mapping[str, Any], columns: _Columns, table: TableConfig) -> _Found:
    if (config.get("filterConfig") or {}).get("filterFunction"):
        yield _warned(f"ingestionConfig.filterConfig: {_DROPPED}")
    continues = bool(config.get("continueOnError"))
    if continues:
        yield _warned(
            "ingestionConfig.continueOnError: if a value does not fit its column, Pinot stores the row with "
            "a default, but the key coordinator counts it as refused and queries never see it"
        )
    time_column = str(table.segments_config.time_column_name or "")
    if not config.get("rowTimeValueCheck") or not time_column:
        return
    if not continues:
        yield _warned(f"ingestionConfig.rowTimeValueCheck: {_DROPPED}")
    for column in columns.named_in([time_column]) if continues else ():
        yield _refused(
            f"rowTimeValueCheck with continueOnError replaces {column} with a default if its time is "
            "before 1971 or after 2071"
        )


def _of_nested(config: Mapping[str, Any], columns: _Columns) -> _Found:
    """Check the settings that unnest messages or move fields to other columns."""
    complex_type = config.get("complexTypeConfig")
    if complex_type is not None:
        if complex_type.get("fieldsToUnnest"):
            yield _refused("complexTypeConfig makes several rows from a message, which has only one offset")
        renames = complex_type.get("prefixesToRename") or {}
        prefixes = tuple(str(text) for pair in renames.items() for text in pair)
        delimiter = str(complex_type.get("delimiter") or ".")
        moved = [each for each in columns.roles if delimiter in each or each.startswith(prefixes)]
        for column in columns.named_in(moved):
            yield _refused(f"{column} comes from complexTypeConfig: it must be a field of the messages")
        yield _warned(
            "ingestionConfig.complexTypeConfig: the key coordinator reads messages unchanged, so it cannot "
            f"detect a value that does not fit a column extracted from another field; {_DROPPED}"
        )
    for section in (
        "enrichmentConfigs",
        "schemaConformingTransformerConfig",
        "schemaConformingTransformerV2Config",
    ):
        part = config.get(section)
        if not part:
            continue
        for column in columns.named_in(_texts(part)):
            yield _refused(
                f"{column} is named in ingestionConfig.{section}: it must be stored as it is in the messages"
            )
        yield _warned(f"ingestionConfig.{section}: it must not change the key's columns or the timestamp")


def _of_decoder(table: TableConfig) -> _Found:
    try:
        values = StreamConfig.of(table).values
    except ConfigError:
        return  # it has no stream, which is reported elsewhere
    decoder = values.get(DECODER, "").rpartition(".")[2]
    known_properties = _KNOWN_PROPERTIES.get(decoder)
    if known_properties is None:
        yield _refused(
            f"the key coordinator cannot read messages of the decoder {decoder or '(none)'}, only those of "
            f"{', '.join(_KNOWN_PROPERTIES)}"
        )
        return
    properties = {
        key.removeprefix(DECODER_PROPERTY): value
        for key, value in values.items()
        if key.startswith(DECODER_PROPERTY)
    }
    for name, value in sorted(properties.items()):
        if name in _EXTRACTORS:
            yield _refused(f"{DECODER_PROPERTY}{name}: the key coordinator does not support this class")
        elif name == "leading.bytes.to.strip" and decoder == PLAIN_AVRO:
            if value.strip() not in ("", "0"):
                yield _refused(f"{DECODER_PROPERTY}{name}: the key coordinator does not strip bytes")
        elif name == "enableLogicalTypes" and decoder not in JSON_DECODERS:
            if value.strip().lower() == "true":
                yield _refused(
                    f"{DECODER_PROPERTY}{name}: the key coordinator reads the underlying values of Avro's "
                    f"logical types"
                )
        elif name not in known_properties:
            yield _warned(
                f"{DECODER_PROPERTY}{name} is not supported by the key coordinator and is ignored by it"
            )


def _texts(part: Any) -> Iterator[str]:
    """Yield all strings in a document, including keys."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(part, list):
        for each in part:
            yield from _texts(each)
    elif isinstance(part, str):
        yield part
