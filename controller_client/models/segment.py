"""A segment's metadata in ZooKeeper, as the controller returns it (SegmentZKMetadata), and its times.

The times decide when retention deletes a segment and which queries read it.
If a time column counts steps of several units (``5:MINUTES:EPOCH``), Pinot's own segment writer records the
numbers of steps as numbers of units: 2024 becomes 1980. This project's builder records the right times. The
servers of a realtime table use Pinot's writer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, field_validator

from controller_client.common.names import TableType
from controller_client.errors import ConfigError
from controller_client.models.base import PinotModel
from controller_client.models.epoch_format import EpochFormat
from controller_client.models.schema import Schema
from controller_client.models.table import TableConfig

__all__ = ["SegmentMetadata", "check_segment_times", "steps_of_time_column", "wrong_times"]


def steps_of_time_column(table: TableConfig, schema: Schema) -> EpochFormat | None:
    """Return the format of a table's time column if it counts steps of several units."""
    field = schema.field(table.time_column) if table.time_column else None
    epoch = EpochFormat.parse(field.format) if field is not None else None
    return epoch if epoch is not None and epoch.size > 1 else None


def wrong_times(table: TableConfig, schema: Schema) -> str | None:
    """Return why the segments of a table would get wrong times; None if they would not."""
    epoch = steps_of_time_column(table, schema)
    if epoch is None or table.table_type is not TableType.REALTIME:
        return None
    return (
        f"its time column {table.time_column} counts steps of {epoch.size} {epoch.unit}, but the servers of a"
        f" realtime table record them as single {epoch.unit}: its segments would seem to be decades old, and"
        " retention would delete them"
    )


def check_segment_times(table: TableConfig, schema: Schema) -> None:
    """Reject a realtime table whose segments would get wrong times.

    Raises:
        ConfigError: They would.
    """
    reason = wrong_times(table, schema)
    if reason is not None:
        raise ConfigError(
            f"{table.name_with_type}: {reason}",
            expected="a format of single units, such as 1:MINUTES:EPOCH",
            where=f"schema {schema.schema_name}",
            remedy="use another column as the time column; a transform can compute it",
        )


class SegmentMetadata(PinotModel):
    """The response of ``GET /segments/{table}/{segment}/metadata``; Pinot returns all values as strings.

    Attributes:
        crc: Checksum of the segment's files.
        data_crc: Checksum of its forward indexes and dictionaries (Pinot 1.5).
        use_data_crc: Whether replicas may have another CRC if their data CRC is the same.
        total_docs: Number of rows.
        download_url: Where servers fetch the tar; None or empty: only from peers.
        size_bytes: Size of the tar; None or -1 if the controller does not know it.
        start_time: Smallest value of the time column, in ``time_unit``; None without a time column.
        end_time: Largest value of the time column.
        time_unit: Unit of both (java.util.concurrent.TimeUnit).
        creation_time_ms: When the segment was built, epoch milliseconds.
        push_time_ms: When it was first pushed, epoch milliseconds.
        refresh_time_ms: When it was last pushed, epoch milliseconds; None if it was pushed once.
        index_version: ``v3``.
        partition_metadata: Partitions by column, as JSON text.
        custom_map: Metadata added by the segment's builder.
    """

    model_config = ConfigDict(extra="allow", alias_generator=None, populate_by_name=True)

    crc: int | None = Field(None, alias="segment.crc")
    data_crc: int | None = Field(None, alias="segment.data.crc")
    use_data_crc: bool = Field(False, alias="segment.use.data.crc")
    total_docs: int | None = Field(None, alias="segment.total.docs")
    download_url: str | None = Field(None, alias="segment.download.url")
    size_bytes: int | None = Field(None, alias="segment.size.in.bytes")
    start_time: int | None = Field(None, alias="segment.start.time")
    end_time: int | None = Field(None, alias="segment.end.time")
    time_unit: str | None = Field(None, alias="segment.time.unit")
    creation_time_ms: int | None = Field(None, alias="segment.creation.time")
    push_time_ms: int | None = Field(None, alias="segment.push.time")
    refresh_time_ms: int | None = Field(None, alias="segment.refresh.time")
    index_version: str | None = Field(None, alias="segment.index.version")
    partition_metadata: str | None = Field(None, alias="segment.partition.metadata")
    custom_map: dict[str, str] = Field(default_factory=dict, alias="custom.map")

    @field_validator("custom_map", mode="before")
    @classmethod
    def _parse_custom_map(cls, value: Any) -> Mapping[str, str]:
        # 0.11.0 returns the map as a JSON string in the flat response.
        if isinstance(value, str):
            parsed: Mapping[str, str] = json.loads(value)
            return parsed
        return value or {}
