"""Checks a table's config and schema against the requirements of upsert tables; needs no cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.common.names import TableType
from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig, retention_ms
from controller_client.models.segment import wrong_times
from controller_client.stream.config import StreamConfig
from controller_client.upsert.ingestion import check_ingestion
from controller_client.upsert.settings import UpsertSettings

__all__ = ["check_requirements", "check_retention"]

_KEY_TYPES = ("INT", "LONG", "STRING", "BOOLEAN", "TIMESTAMP")
_TIME_TYPES = ("LONG", "TIMESTAMP")
_MILLISECONDS = re.compile(r"1:MILLISECONDS:(EPOCH|TIMESTAMP)|EPOCH(\|MILLISECONDS(\|1)?)?|TIMESTAMP")
_LOW_LEVEL = frozenset({"lowlevel", "simple"})


def check_retention(table: TableConfig) -> None:
    """Check that a new table has a retention: without one, keys would be kept forever.

    Raises:
        ConfigError: It has none.
    """
    if not retention_ms(table.name_with_type, table.to_json()):
        config = table.segments_config
        unit, value = config.retention_time_unit or "(no unit)", config.retention_time_value or "(no value)"
        raise ConfigError(
            f"the retention of {table.name_with_type} is {value} {unit}",
            expected="retentionTimeUnit (SECONDS, MINUTES, HOURS or DAYS) and retentionTimeValue in its "
            "segmentsConfig: a key is kept for that long after its last record",
            where=table.name_with_type,
        )


def check_requirements(schema: Schema, table: TableConfig, settings: UpsertSettings) -> tuple[str, ...]:
    """Check that rows of a table can be found by their offset and replaced by their key.

    Returns:
        Warnings on settings that are allowed but may surprise.

    Raises:
        ConfigError: They cannot; the error lists all reasons.
    """
    ingestion = check_ingestion(schema, table, settings)
    faults = [
        *_faults_of_table(table),
        *_faults_of_columns(schema, settings),
        *filter(None, [wrong_times(table, schema)]),
        *(ingestion.refusals if table.table_type is TableType.REALTIME else ()),
    ]
    if faults:
        raise ConfigError(
            f"{table.name_with_type} cannot be an upsert table: {'; '.join(faults)}",
            where=table.name_with_type,
            remedy="change the table's config or schema, and create it again",
        )
    return ingestion.warnings


def _faults_of_table(table: TableConfig) -> Iterator[str]:
    document = table.to_json()
    if table.table_type is not TableType.REALTIME:
        yield "it is not a realtime table"
        return
    yield from _faults_of_stream(table)
    if table.pinots_upsert:
        yield "it has Pinot's own upsertConfig, which is a different feature"
    if table.pinots_dedup:
        yield "it has Pinot's own dedupConfig, which is a different feature"
    index = document.get("tableIndexConfig") or {}
    if any(index.get("sortedColumn") or ()):
        yield "sortedColumn changes the order of a sealed segment's rows, which must be that of their offsets"
    if str(index.get("loadMode") or "MMAP").upper() != "MMAP":
        yield f"loadMode is {index['loadMode']}, not MMAP: versions are written into memory-mapped files"
    if index.get("enableDefaultStarTree") or index.get("starTreeIndexConfigs"):
        yield "a star-tree index also counts deleted rows"
    if index.get("aggregateMetrics") or _at(document, "ingestionConfig", "aggregationConfigs"):
        yield "aggregateMetrics or aggregationConfigs combine several messages into one row"


def _faults_of_stream(table: TableConfig) -> Iterator[str]:
    try:
        stream = StreamConfig.of(table)
    except ConfigError as error:
        yield error.message
        return
    if stream.stream_type.lower() != "kafka":
        yield f"its stream is of type {stream.stream_type!r}, not kafka"
        return
    kinds = {kind.strip().lower() for kind in stream.values.get("stream.kafka.consumer.type", "").split(",")}
    if not kinds <= _LOW_LEVEL:
        yield f"its consumer type is {', '.join(sorted(kinds)) or 'not set'}, not lowlevel"


def _faults_of_columns(schema: Schema, settings: UpsertSettings) -> Iterator[str]:
    if not settings.primary_key or len(set(settings.primary_key)) != len(settings.primary_key):
        yield f"the primary key {','.join(settings.primary_key)!r} is empty or names a column twice"
    for name in settings.primary_key:
        yield from _faults_of_column(schema, name, "the key", _KEY_TYPES)
    yield from _faults_of_column(schema, settings.timestamp_column, "the timestamp", _TIME_TYPES)
    field = schema.field(settings.timestamp_column)
    if (
        field
        and field.data_type == "LONG"
        and field.format
        and not _MILLISECONDS.fullmatch(field.format.upper())
    ):
        yield f"the timestamp {field.name} has the format {field.format}, not milliseconds since 1970"


def _faults_of_column(schema: Schema, name: str, what: str, types: tuple[str, ...]) -> Iterator[str]:
    field = schema.field(name)
    if field is None:
        yield f"{what} {name} is not a column of the schema {schema.schema_name}"
    elif field.data_type not in types or not field.single_value:
        many = "" if field.single_value else ", with several values"
        yield f"{what} {name} is a {field.data_type}{many}, not one {' or '.join(types)}"


def _at(document: Mapping[str, Any], *path: str) -> Any:
    found: Any = document
    for key in path:
        found = (found or {}).get(key)
    return found
