"""Equality deletes of Iceberg tables, as Flink's upserts write them: pyiceberg does not plan them.

A row is deleted if some columns of it have the values of a row in a delete file that was committed later,
in the same partition or, if the delete file has no partition, anywhere in the table. Null equals null.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, ManifestGroupPlanner, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import VoidTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from controller_client.common.text import visible
from controller_client.errors import SourceError

__all__ = ["FORMATS", "DataFileUnit", "EqualityDelete", "plan_units"]

FORMATS = (FileFormat.PARQUET, FileFormat.ORC)
"""Of the data files and delete files that can be read."""

_ORDERED = (IntegerType, LongType, DateType, DecimalType, StringType, TimestampType, TimestamptzType)
"""Types whose bounds every writer orders as Python orders their values."""

_MOST_KEYS = 20_000_000
"""Of a data file: they are in memory while it is read, with some hundred bytes each."""


@dataclass(frozen=True)
class EqualityDelete:
    """A delete file.

    Attributes:
        file: The file.
        sequence_number: It deletes rows of data files with lower ones.
        keys: The columns to compare, by id. Names are not the table's, as a dropped column may be a key.
    """

    file: DataFile
    sequence_number: int
    keys: tuple[NestedField, ...]


@dataclass(frozen=True)
class DataFileUnit:
    """A data file, and what is deleted of it.

    Attributes:
        task: The data file with its position deletes and deletion vectors.
        equality_deletes: Its equality deletes.
    """

    task: FileScanTask
    equality_deletes: tuple[EqualityDelete, ...]

    @property
    def delete_paths(self) -> list[str]:
        """All delete files, sorted."""
        by_equality = (delete.file for delete in self.equality_deletes)
        return sorted(file.file_path for file in (*self.task.delete_files, *by_equality))


def plan_units(uri: str, table: Table, snapshot: Snapshot, schema: Schema) -> Iterator[DataFileUnit]:
    """Yield the units of a snapshot.

    Args:
        uri: Names the table in errors.
        table: The table.
        snapshot: One of its snapshots.
        schema: The schema by which it is read.

    Raises:
        SourceError: An equality delete is of a kind that cannot be applied.
    """
    deletes = _EqualityDeletes(uri, table, schema)
    sequence_numbers: dict[str, int] = {}

    def is_planned_by_pyiceberg(entry: ManifestEntry) -> bool:
        if entry.data_file.content == DataFileContent.EQUALITY_DELETES:
            deletes.add(entry.data_file, entry.sequence_number or 0)
            return False
        sequence_numbers[entry.data_file.file_path] = entry.sequence_number or 0
        return True

    planner = ManifestGroupPlanner(table.metadata, table.io)
    for task in planner.plan_files(snapshot.manifests(table.io), is_planned_by_pyiceberg):
        yield DataFileUnit(task, deletes.of(task.file, sequence_numbers[task.file.file_path]))


class _EqualityDeletes:
    """The equality deletes of a snapshot, by partition."""

    def __init__(self, uri: str, table: Table, schema: Schema) -> None:
        self._uri = uri
        self._specs = table.metadata.specs()
        # Ids of dropped columns are in earlier schemas.
        schemas = (*table.metadata.schemas, schema)
        self._fields = {field.field_id: field for known in schemas for field in known.fields}
        self._by_partition: dict[Any, list[EqualityDelete]] = defaultdict(list)
        self._is_sorted = False

    def add(self, file: DataFile, sequence_number: int) -> None:
        """Add a delete file."""
        if file.file_format not in FORMATS:
            raise self._refused(file, f"in the format {file.file_format.value}", "in Parquet or ORC")
        keys = tuple(self._key(file, field_id) for field_id in sorted(set(file.equality_ids or [-1])))
        # A delete file without a partition applies to all of them.
        is_global = all(
            isinstance(field.transform, VoidTransform) for field in self._specs[file.spec_id].fields
        )
        partition = None if is_global else (file.spec_id, file.partition)
        self._by_partition[partition].append(EqualityDelete(file, sequence_number, keys))

    def of(self, data: DataFile, sequence_number: int) -> tuple[EqualityDelete, ...]:
        """Return the deletes of rows of a data file."""
        if not self._is_sorted:
            for deletes in self._by_partition.values():
                deletes.sort(key=_sequence_number)
            self._is_sorted = True
        later: list[EqualityDelete] = []
        for partition in (None, (data.spec_id, data.partition)):
            deletes = self._by_partition.get(partition, [])
            first = bisect_right(deletes, sequence_number, key=_sequence_number)
            later += (delete for delete in deletes[first:] if not _is_apart(delete, data))
        if sum(delete.file.record_count for delete in later) > _MOST_KEYS:
            raise self._refused(data, f"of more than {_MOST_KEYS:,} keys for one data file", "of fewer keys")
        return tuple(later)

    def _key(self, file: DataFile, field_id: int) -> NestedField:
        field = self._fields.get(field_id)
        if field is None:
            raise self._refused(file, "of a nested column or of none", "of columns of the table")
        if isinstance(field.field_type, FloatType | DoubleType) or not field.field_type.is_primitive:
            column = f"{visible(field.name)}, {field.field_type}"
            raise self._refused(file, f"of the column {column}", "of columns that can be keys")
        default = field.initial_default
        return NestedField(field_id, f"key {field_id}", field.field_type, initial_default=default)

    def _refused(self, file: DataFile, what: str, expected: str) -> SourceError:
        return SourceError(
            f"the Iceberg table {self._uri} has equality deletes {what}, which cannot be applied",
            where=visible(file.file_path),
            expected=f"position deletes, deletion vectors, or equality deletes {expected}",
            remedy="compact the table (in Spark: CALL catalog.system.rewrite_data_files)",
        )


def _sequence_number(delete: EqualityDelete) -> int:
    return delete.sequence_number


def _is_apart(delete: EqualityDelete, data: DataFile) -> bool:
    """Whether the bounds of a column prove that no row is deleted, so the unit stays as it is."""
    for key in delete.keys:
        if _may_have_null(delete.file, key) and _may_have_null(data, key):
            continue
        of_keys, of_rows = _bounds(delete.file, key), _bounds(data, key)
        if of_keys and of_rows and (of_keys[1] < of_rows[0] or of_rows[1] < of_keys[0]):
            return True
    return False


def _may_have_null(file: DataFile, field: NestedField) -> bool:
    return (file.null_value_counts or {}).get(field.field_id) != 0


def _bounds(file: DataFile, field: NestedField) -> tuple[Any, Any] | None:
    lower, upper = (
        (file.lower_bounds or {}).get(field.field_id),
        (file.upper_bounds or {}).get(field.field_id),
    )
    if lower is None or upper is None or not isinstance(field.field_type, _ORDERED):
        return None
    try:
        return from_bytes(field.field_type, lower), from_bytes(field.field_type, upper)
    except (ValueError, struct.error):
        return None  # of the type that the column had before
