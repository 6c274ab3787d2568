"""Which segments an overwrite replaces, and which rows may replace them.

=============== ================================================================================
whole table     every segment that queries see
``timeRange``   segments entirely within [from, to); a segment that crosses a boundary is an error
``partitions``  segments with rows of these partitions only; a segment that also has rows of other
                partitions, or whose partitions are unknown, is an error
=============== ================================================================================

Empty segments are replaced as well. Errors are reported before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError, DataError
from controller_client.models import Schema, SegmentMetadata, TableConfig
from controller_client.models.epoch_format import UNIT_NS
from controller_client.rest.lineage import TableView
from controller_client.zookeeper import PropertyStore, segment_path
from spark_connectors.options import WriteOptions
from spark_connectors.types import epoch_format, stored_numbers
from spark_connectors.write.partitioning import Partitioning

__all__ = ["PartitionScope", "Scope", "TimeScope", "scope_of", "segments_to_replace"]

_NAMES_IN_A_MESSAGE = 10


class _Place(Enum):
    INSIDE = auto()
    OUTSIDE = auto()
    ACROSS = auto()


@dataclass(frozen=True)
class TimeScope:
    """Segments and rows of [first, end), in steps of the time column.

    Attributes:
        unit: Unit of the column.
        size: Units in a step.
    """

    column: str
    data_type: str
    unit: str
    first: int
    end: int
    size: int = 1

    @property
    def _step_ns(self) -> int:
        return self.size * UNIT_NS[self.unit]

    def place(self, segment: SegmentMetadata) -> _Place:
        """Return whether a segment is inside, outside or across the boundary."""
        if segment.start_time is None or segment.end_time is None:
            return _Place.ACROSS
        # Pinot 0.11 records the column's own numbers, except for the builder's segments with steps of several
        # units. Pinot 1.x records milliseconds, truncated towards 1970.
        if segment.time_unit not in {self.unit, "MILLISECONDS"}:
            return _Place.ACROSS
        recorded, own = self._recorded_ns(segment.time_unit), self._step_ns
        cut = max(recorded - own, 0)
        start = segment.start_time * recorded - (cut if segment.start_time <= 0 else 0)
        last = segment.end_time * recorded + (cut if segment.end_time >= 0 else 0)
        first, end = self.first * own, self.end * own
        if last < first or start >= end:
            return _Place.OUTSIDE
        return _Place.INSIDE if first <= start and last < end else _Place.ACROSS

    def _recorded_ns(self, unit: str) -> int:
        return self._step_ns if unit == self.unit and unit != "MILLISECONDS" else UNIT_NS[unit]

    def describe(self, segment: SegmentMetadata) -> str:
        """Return a segment's times, in the column's unit if the recorded unit is known."""
        if segment.start_time is None or segment.end_time is None:
            return "times unknown"
        start, last, unit = segment.start_time, segment.end_time, segment.time_unit or "?"
        if unit in UNIT_NS:
            recorded, own = self._recorded_ns(unit), self._step_ns
            start, last, unit = start * recorded // own, last * recorded // own, self._steps
        return f"{start} to {last} {unit}"

    def check_rows(self, batch: pa.RecordBatch) -> None:
        """Reject rows outside of the range.

        Raises:
            DataError: Some rows are outside or have no time.
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
                f"column {self.column}: rows from {ends['min']} to {ends['max']} are outside the range to be"
                " overwritten",
                expected=f"times in {self}",
                remedy="filter the DataFrame, or widen 'overwriteFrom' and 'overwriteTo'",
            )

    def __str__(self) -> str:
        return f"[{self.first}, {self.end}) {self._steps} of {self.column}"

    @property
    def _steps(self) -> str:
        return self.unit if self.size == 1 else f"x {self.size} {self.unit}"


@dataclass(frozen=True)
class PartitionScope:
    """Segments and rows of some partitions."""

    partitioning: Partitioning
    ids: tuple[int, ...]

    def place(self, segment: SegmentMetadata) -> _Place:
        """Return whether a segment is inside, outside or across the boundary."""
        partitions = _partitions(segment, self.partitioning)
        if partitions is None:
            return _Place.ACROSS
        if not partitions & set(self.ids):
            return _Place.OUTSIDE
        return _Place.INSIDE if partitions <= set(self.ids) else _Place.ACROSS

    def describe(self, segment: SegmentMetadata) -> str:
        """Return the recorded partitions of a segment."""
        return f"partitions {segment.partition_metadata or 'unknown'}"

    def check_partition(self, partition: int) -> None:
        """Reject rows of other partitions.

        Raises:
            DataError: The partition is not to be overwritten.
        """
        if partition not in self.ids:
            raise DataError(
                f"column {self.partitioning.column}: rows of partition {partition}, which is not one of the"
                " partitions to be overwritten",
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
        options: The options of the write.
        config: The table's config.
        schema: The table's schema.
        columns: The DataFrame's columns.

    Raises:
        ConfigError: The table has no suitable time column or partitions.
    """
    if options.overwrite_range is not None:
        return _time_scope(options.overwrite_range, config, schema, columns)
    if options.overwrite_partitions:
        return _partition_scope(options, config, schema, columns)
    return None


def segments_to_replace(
    view: TableView, store: PropertyStore, table: TableName, scope: Scope | None
) -> Sequence[str]:
    """Return the segments that queries see and that are inside the scope.

    Raises:
        ConflictError: A segment crosses the boundary of the scope; nothing was changed.
    """
    names = sorted(view.visible)
    if scope is None:
        return names
    records = store.get_many([segment_path(table, name) for name in names])
    inside, across = [], []
    for name, found in zip(names, records, strict=True):
        if found is None:
            continue  # deleted after it was listed
        segment = SegmentMetadata.from_json(found.record.simple_fields)
        place = _Place.INSIDE if segment.total_docs == 0 else scope.place(segment)
        if place is _Place.INSIDE:
            inside.append(name)
        elif place is _Place.ACROSS:
            across.append(f"{name} ({scope.describe(segment)})")
    if across:
        raise ConflictError(
            f"{len(across)} segments contain, or may contain, rows both inside and outside of {scope}: "
            + "; ".join(across[:_NAMES_IN_A_MESSAGE]),
            expected="segments entirely inside or entirely outside",
            where=table,
            remedy="choose a scope along segment boundaries, or overwrite the whole table",
        )
    return inside


def _time_scope(
    bounds: tuple[int, int], config: TableConfig, schema: Schema, columns: Sequence[str]
) -> TimeScope:
    field = schema.field(config.time_column) if config.time_column else None
    if field is None:
        raise ConfigError(f"'overwriteScope' timeRange: {config.name_with_type} has no time column")
    epoch = epoch_format(field)
    if epoch is None:
        raise ConfigError(
            f"'overwriteScope' timeRange: the time column {field.name} of {config.name_with_type} is"
            f" {field.data_type} with the format {field.format}",
            expected="TIMESTAMP, or INT or LONG with an EPOCH format",
        )
    if field.name not in columns:
        raise ConfigError(f"'overwriteScope' timeRange: the DataFrame lacks the time column {field.name}")
    return TimeScope(field.name, field.data_type, epoch.unit, *bounds, epoch.size)


def _partition_scope(
    options: WriteOptions, config: TableConfig, schema: Schema, columns: Sequence[str]
) -> PartitionScope:
    partitioning = Partitioning.of(config, schema)
    if partitioning is None:
        raise ConfigError(
            f"'overwriteScope' partitions: {config.name_with_type} is not partitioned",
            expected="one column of type INT, LONG, STRING, BOOLEAN or TIMESTAMP in segmentPartitionConfig",
        )
    if partitioning.column not in columns:
        raise ConfigError(
            f"'overwriteScope' partitions: the DataFrame lacks the column {partitioning.column}"
        )
    unknown = [each for each in options.overwrite_partitions if each >= partitioning.count]
    if unknown:
        raise ConfigError(
            f"'overwritePartitions' names partition {unknown[0]}", expected=f"0 to {partitioning.count - 1}"
        )
    return PartitionScope(partitioning, options.overwrite_partitions)


def _partitions(segment: SegmentMetadata, partitioning: Partitioning) -> set[int] | None:
    """Return a segment's recorded partitions; None if there are none, or the partitioning differs."""
    document: Mapping[str, Any] = json.loads(segment.partition_metadata or "{}")
    column = (document.get("columnPartitionMap") or {}).get(partitioning.column) or {}
    same = (
        str(column.get("functionName")).lower() == partitioning.function.lower()
        and column.get("numPartitions") == partitioning.count
    )
    partitions: Iterable[int] | None = column.get("partitions")
    return set(partitions) if same and partitions is not None else None
