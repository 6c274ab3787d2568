"""Whether Pinot stores of a message what the key coordinator reads of it; plain checks, no cluster.

Both read the input topic by themselves. What a table's config makes of a message on Pinot's side alone, the
key coordinator does not see: where that is another key or another time, wrong rows would be replaced.
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
"""Columns of these names, and ``__key``, are of the Kafka record, and not of its value."""
_FIELD_GROUPS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
_CUT = "TRIM_LENGTH"
_DROPPED = "a row that it drops still replaces the earlier row of its key, so the key has no row"


@dataclass(frozen=True)
class IngestionFindings:
    """What a table's config and schema do to messages.

    Attributes:
        refusals: With which Pinot stores another key or time than the key coordinator reads.
        warnings: With which it may, or drops rows that have replaced others.
    """

    refusals: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Columns:
    """The columns that the key coordinator reads, by name, each with what it is."""

    roles: Mapping[str, str]
    fields: Mapping[str, Mapping[str, Any]]
    """All columns of the schema, as it has them."""

    def named_in(self, names: Iterable[str]) -> list[str]:
        """Those among some names, as ``the key user``."""
        wanted = set(names)
        return [f"{role} {name}" for name, role in self.roles.items() if name in wanted]


def check_ingestion(schema: Schema, table: TableConfig, settings: UpsertSettings) -> IngestionFindings:
    """Compare what Pinot makes of a message with what the key coordinator reads of it.

    Args:
        schema: The table's.
        table: Its config.
        settings: Of upsert.
    """
    document = schema.to_json()
    fields = {each["name"]: each for group in _FIELD_GROUPS for each in document.get(group) or ()}
    time_role = {settings.timestamp_column: "the timestamp"}
    columns = _Columns({**dict.fromkeys(settings.primary_key, "the key"), **time_role}, fields)
    config = table.to_json().get("ingestionConfig") or {}
    found = [
        *_of_schema(columns),
        *_of_transforms(config, columns),
        *_of_dropped_rows(config, columns, table),
        *_of_nested(config, columns),
        *_of_decoder(table),
    ]
    return IngestionFindings(
        tuple(text for is_wrong, text in found if is_wrong),
        tuple(text for is_wrong, text in found if not is_wrong),
    )


_Found = Iterator[tuple[bool, str]]
"""Whether it is refused, and what is said."""


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
            yield _refused(f"{role} {name} is of the Kafka record: it must be a field of the messages")
    for name, field in columns.fields.items():
        strategy = str(field.get("maxLengthExceedStrategy") or _CUT).upper()
        if name in columns.roles and field.get("dataType") == "STRING" and strategy != _CUT:
            yield _refused(
                f"{columns.roles[name]} {name} has the maxLengthExceedStrategy {strategy}: the "
                f"key coordinator cuts longer values, as {_CUT} does"
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
            f"continueOnError is set, which Pinot 0.11 does not know; {_DROPPED}"
        )


def _of_dropped_rows(config: Mapping[str, Any], columns: _Columns, table: TableConfig) -> _Found:
    if (config.get("filterConfig") or {}).get("filterFunction"):
        yield _warned(f"ingestionConfig.filterConfig: {_DROPPED}")
    continues = bool(config.get("continueOnError"))
    if continues:
        yield _warned(
            "ingestionConfig.continueOnError: Pinot stores a row with a default in the place of a value "
            "that does not fit its column, but the key coordinator counts it as "
            "refused, and queries never see it"
        )
    time_column = str(table.segments_config.time_column_name or "")
    if not config.get("rowTimeValueCheck") or not time_column:
        return
    if not continues:
        yield _warned(f"ingestionConfig.rowTimeValueCheck: {_DROPPED}")
    for column in columns.named_in([time_column]) if continues else ():
        yield _refused(
            f"rowTimeValueCheck with continueOnError puts a default into {column} where its time is "
            "before 1971 or after 2071"
        )


def _of_nested(config: Mapping[str, Any], columns: _Columns) -> _Found:
    """What takes messages apart, and puts fields into other columns."""
    complex_type = config.get("complexTypeConfig")
    if complex_type is not None:
        if complex_type.get("fieldsToUnnest"):
            yield _refused("complexTypeConfig makes several rows of a message, which has one offset")
        renames = complex_type.get("prefixesToRename") or {}
        prefixes = tuple(str(text) for pair in renames.items() for text in pair)
        delimiter = str(complex_type.get("delimiter") or ".")
        moved = [each for each in columns.roles if delimiter in each or each.startswith(prefixes)]
        for column in columns.named_in(moved):
            yield _refused(f"{column} comes out of complexTypeConfig: it must be a field of the messages")
        yield _warned(
            "ingestionConfig.complexTypeConfig: the key coordinator reads messages as they are, so it "
            f"cannot tell when a value does not fit a column that is taken out of another "
            f"field; {_DROPPED}"
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
                f"{column} is named in ingestionConfig.{section}: it must be stored as messages have it"
            )
        yield _warned(
            f"ingestionConfig.{section}: it must leave the columns of the key, and the timestamp, as "
            "messages have them"
        )


def _of_decoder(table: TableConfig) -> _Found:
    try:
        values = StreamConfig.of(table).values
    except ConfigError:
        return  # it has no stream, which is said elsewhere
    decoder = values.get(DECODER, "").rpartition(".")[2]
    known = _KNOWN_PROPERTIES.get(decoder)
    if known is None:
        yield _refused(
            f"messages of the decoder {decoder or '(none)'} cannot be read by the key coordinator, but "
            f"those of {', '.join(_KNOWN_PROPERTIES)}"
        )
        return
    properties = {
        key.removeprefix(DECODER_PROPERTY): value
        for key, value in values.items()
        if key.startswith(DECODER_PROPERTY)
    }
    for name, value in sorted(properties.items()):
        if name in _EXTRACTORS:
            yield _refused(
                f"{DECODER_PROPERTY}{name}: the key coordinator does not read messages by that class"
            )
        elif name == "leading.bytes.to.strip" and decoder == PLAIN_AVRO:
            if value.strip() not in ("", "0"):
                yield _refused(f"{DECODER_PROPERTY}{name}: the key coordinator strips no bytes off a message")
        elif name == "enableLogicalTypes" and decoder not in JSON_DECODERS:
            if value.strip().lower() == "true":
                yield _refused(
                    f"{DECODER_PROPERTY}{name}: the key coordinator reads the plain values of Avro's "
                    f"logical types"
                )
        elif name not in known:
            yield _warned(
                f"{DECODER_PROPERTY}{name} is not known to the key coordinator, which reads without it"
            )


def _texts(part: Any) -> Iterator[str]:
    """All texts within a document, keys too."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(part, list):
        for each in part:
            yield from _texts(each)
    elif isinstance(part, str):
        yield part
