"""Which segments an overwrite replaces, and which rows may come instead.

=============== ================================================================================
whole table     every segment that queries see
``timeRange``   segments that lie wholly in [from, to); one that lies across the border is refused
``partitions``  segments that hold rows of these partitions alone; one that holds others, too, or
                whose partitions are unknown, is refused
=============== ================================================================================

Segments without rows are replaced along. What is refused is refused before anything was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError, DataError
from controller_client.models import Schema, SegmentMetadata, TableConfig
from controller_client.models.epoch_format import UNIT_NS
from controller_client.zookeeper import PropertyStore
from spark_connectors.options import WriteOptions
from spark_connectors.types import epoch_unit, stored_numbers
from spark_connectors.write.partitioning import Partitioning

__all__ = ["PartitionScope", "Scope", "TimeScope", "scope_of", "segments_to_replace"]

_NAMES_IN_A_MESSAGE = 10


class _Place(Enum):
    INSIDE = auto()
    OUTSIDE = auto()
    ACROSS = auto()


@dataclass(frozen=True)
class TimeScope:
    """Segments and rows of [first, end), in the time column's unit."""

    column: str
    data_type: str
    unit: str
    first: int
    end: int

    def place(self, segment: SegmentMetadata) -> _Place:
        """Return where a segment lies."""
        if segment.start_time is None or segment.end_time is None:
            return _Place.ACROSS
        # Pinot 0.11 records the column's own numbers, 1.x milliseconds: of a finer column, cut towards 1970.
        if segment.time_unit not in {self.unit, "MILLISECONDS"}:
            return _Place.ACROSS
        recorded, own = UNIT_NS[segment.time_unit], UNIT_NS[self.unit]
        cut = max(recorded - own, 0)
        start = segment.start_time * recorded - (cut if segment.start_time <= 0 else 0)
        last = segment.end_time * recorded + (cut if segment.end_time >= 0 else 0)
        first, end = self.first * own, self.end * own
        if last < first or start >= end:
            return _Place.OUTSIDE
        return _Place.INSIDE if first <= start and last < end else _Place.ACROSS

    def describe(self, segment: SegmentMetadata) -> str:
        """Return a segment's times, in the column's unit where the record's is known."""
        if segment.start_time is None or segment.end_time is None:
            return "times unknown"
        start, last, unit = segment.start_time, segment.end_time, segment.time_unit or "?"
        if unit in UNIT_NS:
            recorded, own = UNIT_NS[unit], UNIT_NS[self.unit]
            start, last, unit = start * recorded // own, last * recorded // own, self.unit
        return f"{start} to {last} {unit}"

    def check_rows(self, batch: pa.RecordBatch) -> None:
        """Refuse rows outside.

        Raises:
            DataError: There are some, or rows without a time.
        """
        times = stored_numbers(batch.column(self.column), self.data_type)
        if times.null_count:
            raise DataError(
                f"column {self.column}: {times.null_count} rows have no time",
                expected=f"times in {self}",
                remedy="filter the DataFrame",
            )
        ends = pc.min_max(times).as_py()
        if batch.num_rows and not (self.first <= ends["min"] and ends["max"] < self.end):
            raise DataError(
                f"column {self.column}: rows from {ends['min']} to {ends['max']} are outside what is"
                " overwritten",
                expected=f"times in {self}",
                remedy="filter the DataFrame, or widen 'overwriteFrom' and 'overwriteTo'",
            )

    def __str__(self) -> str:
        return f"[{self.first}, {self.end}) {self.unit} of {self.column}"


@dataclass(frozen=True)
class PartitionScope:
    """Segments and rows of some partitions."""

    partitioning: Partitioning
    ids: tuple[int, ...]

    def place(self, segment: SegmentMetadata) -> _Place:
        """Return where a segment lies."""
        found = _partitions(segment, self.partitioning)
        if found is None:
            return _Place.ACROSS
        if not found & set(self.ids):
            return _Place.OUTSIDE
        return _Place.INSIDE if found <= set(self.ids) else _Place.ACROSS

    def describe(self, segment: SegmentMetadata) -> str:
        """Return what Pinot knows of a segment's partitions."""
        return f"partitions {segment.partition_metadata or 'unknown'}"

    def check_partition(self, partition: int) -> None:
        """Refuse rows of another partition.

        Raises:
            DataError: It is another.
        """
        if partition not in self.ids:
            raise DataError(
                f"column {self.partitioning.column}: there are rows of partition {partition}, outside what is"
                " overwritten",
                expected=str(self),
                remedy="filter the DataFrame, or add the partition to 'overwritePartitions'",
            )

    def __str__(self) -> str:
        return f"partitions {', '.join(map(str, self.ids))} of {self.partitioning.column}"


Scope = TimeScope | PartitionScope


def scope_of(
    options: WriteOptions, config: TableConfig, schema: Schema, columns: Sequence[str]
) -> Scope | None:
    """Return the scope of an overwrite; None for the whole table.

    Args:
        options: Of the write.
        config: The table's.
        schema: The table's.
        columns: The DataFrame's.

    Raises:
        ConfigError: The table has no time column, or no partitions, that could be overwritten so.
    """
    if options.overwrite_range is not None:
        return _time_scope(options.overwrite_range, config, schema, columns)
    if options.overwrite_partitions:
        return _partition_scope(options, config, schema, columns)
    return None


def segments_to_replace(
    client: ControllerClient, store: PropertyStore, table: TableName, scope: Scope | None
) -> Sequence[str]:
    """Return the segments that queries see and that the scope holds.

    Raises:
        ConflictError: A segment lies across the scope's border; nothing was changed.
    """
    names = client.segments.list(table, exclude_replaced=True)
    if scope is None:
        return names
    records = store.get_many([f"/SEGMENTS/{table}/{name}" for name in names])
    inside, across = [], []
    for name, found in zip(names, records, strict=True):
        if found is None:
            continue  # deleted meanwhile
        segment = SegmentMetadata.from_json(found.record.simple_fields)
        place = _Place.INSIDE if segment.total_docs == 0 else scope.place(segment)
        if place is _Place.INSIDE:
            inside.append(name)
        elif place is _Place.ACROSS:
            across.append(f"{name} ({scope.describe(segment)})")
    if across:
        raise ConflictError(
            f"{len(across)} segments hold, or may hold, rows inside and outside of {scope}: "
            + "; ".join(across[:_NAMES_IN_A_MESSAGE]),
            expected="segments wholly inside or wholly outside",
            where=table,
            remedy="choose a scope along the segments' borders, or overwrite the whole table",
        )
    return inside


def _time_scope(
    bounds: tuple[int, int], config: TableConfig, schema: Schema, columns: Sequence[str]
) -> TimeScope:
    field = schema.field(config.time_column) if config.time_column else None
    if field is None:
        raise ConfigError(f"{config.name_with_type} has no time column: 'overwriteScope' cannot be timeRange")
    unit = epoch_unit(field)
    if unit is None:
        raise ConfigError(
            f"the time column {field.name} of {config.name_with_type} is not a time: {field.data_type} of"
            f" format {field.format}",
            expected="TIMESTAMP, or INT or LONG of an EPOCH format, for 'overwriteScope' timeRange",
        )
    if field.name not in columns:
        raise ConfigError(f"'overwriteScope' timeRange needs the time column {field.name} in the DataFrame")
    return TimeScope(field.name, field.data_type, unit, *bounds)


def _partition_scope(
    options: WriteOptions, config: TableConfig, schema: Schema, columns: Sequence[str]
) -> PartitionScope:
    partitioning = Partitioning.of(config, schema)
    if partitioning is None:
        raise ConfigError(
            f"{config.name_with_type} is not partitioned: 'overwriteScope' cannot be partitions",
            expected="one column of type INT, LONG, STRING, BOOLEAN or TIMESTAMP in segmentPartitionConfig",
        )
    if partitioning.column not in columns:
        raise ConfigError(
            f"'overwriteScope' partitions needs the column {partitioning.column} in the DataFrame"
        )
    unknown = [each for each in options.overwrite_partitions if each >= partitioning.count]
    if unknown:
        raise ConfigError(
            f"'overwritePartitions' names partition {unknown[0]}", expected=f"0 to {partitioning.count - 1}"
        )
    return PartitionScope(partitioning, options.overwrite_partitions)


def _partitions(segment: SegmentMetadata, partitioning: Partitioning) -> set[int] | None:
    """Return the partitions that a segment's metadata names; None when it does not, or counts otherwise."""
    document: Mapping[str, Any] = json.loads(segment.partition_metadata or "{}")
    column = (document.get("columnPartitionMap") or {}).get(partitioning.column) or {}
    same = (
        str(column.get("functionName")).lower() == partitioning.function.lower()
        and column.get("numPartitions") == partitioning.count
    )
    partitions: Iterable[int] | None = column.get("partitions")
    return set(partitions) if same and partitions is not None else None
