"""Reads the rows of an Iceberg table's data files that are not deleted.

Deletes by the values of keys, as Flink's upserts write them, are applied here, not by pyiceberg.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, _read_deletes, schema_to_pyarrow
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import TimestampNanoType, TimestamptzNanoType
from pyiceberg.utils.concurrent import ExecutorFactory

from minion_tasks.sources.iceberg_deletes import DataFileUnit, EqualityDelete

__all__ = ["UnitReader"]

_NANOSECONDS = (TimestampNanoType, TimestamptzNanoType)

_KEPT_BYTES = 256 << 20
_JOINED_BYTES = 64 << 20


class UnitReader:
    """Reads units, and keeps the delete files that it has read for those that follow; for one thread.

    Attributes:
        table: The table as it was loaded.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._kept: dict[str, pa.Table] = {}

    def batches(self, unit: DataFileUnit, selected: Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a unit that are not deleted.

        Args:
            unit: The unit.
            selected: The fields to return, by the schema of its snapshot.
        """
        fields = {field.field_id: field for field in selected.fields}
        reads = {delete.file.file_path: partial(self._keys, delete) for delete in unit.equality_deletes}
        tables: dict[tuple[int, ...], list[pa.Table]] = defaultdict(list)
        for delete, table in zip(unit.equality_deletes, self._read(reads), strict=True):
            fields = {**{key.field_id: key for key in delete.keys}, **fields}
            tables[tuple(key.field_id for key in delete.keys)].append(table)
        deleted = {field_ids: _Rows(pa.concat_tables(parts).columns) for field_ids, parts in tables.items()}
        places = {field_id: place for place, field_id in enumerate(fields)}
        batches = self._scan(unit.task, Schema(*fields.values()))
        for read in _joined(batches, sum(map(len, deleted.values()))):
            kept = read
            for field_ids, rows in deleted.items():
                numbers = rows.find([kept.column(places[field_id]) for field_id in field_ids])
                kept = kept.filter(pc.is_null(numbers))
            yield from kept.select([places[field.field_id] for field in selected.fields]).to_batches()

    def _keys(self, delete: EqualityDelete) -> pa.Table:
        keys = Schema(*delete.keys)
        batches = self._scan(FileScanTask(delete.file), keys)
        return pa.Table.from_batches(batches, schema_to_pyarrow(keys, include_field_ids=False))

    def _positions(self, task: FileScanTask) -> list[pa.ChunkedArray]:
        """Return the places of rows that are deleted by position, from each delete file."""
        is_of_file = pc.field("file_path") == task.file.file_path
        tables = self._read({file.file_path: partial(self._places, file) for file in task.delete_files})
        positions = (table.filter(is_of_file).column("pos") for table in tables)
        return [rows for rows in positions if len(rows)]

    def _places(self, file: DataFile) -> pa.Table:
        """Read a delete file, which may be of many data files; their paths are kept once."""
        if file.file_format == FileFormat.PUFFIN:
            vectors = _read_deletes(self.table.io, file)
            paths = pa.chunked_array([pa.repeat(path, len(vector)) for path, vector in vectors.items()])
            rows = pa.chunked_array([chunk for vector in vectors.values() for chunk in vector.chunks])
            table = pa.table({"file_path": paths, "pos": rows})
        else:
            columns = ["file_path", "pos"]
            with self.table.io.new_input(file.file_path).open() as source:
                if file.file_format == FileFormat.ORC:
                    table = pa.orc.ORCFile(source).read(columns=columns)
                else:
                    table = pq.ParquetFile(source, read_dictionary=["file_path"]).read(columns=columns)
        paths = table.column("file_path")
        if pa.types.is_dictionary(paths.type):
            return table
        return table.set_column(0, "file_path", paths.dictionary_encode())

    def _read(self, reads: Mapping[str, Callable[[], pa.Table]]) -> list[pa.Table]:
        """Return the contents of delete files, which are kept for the units that follow.

        Args:
            reads: Path -> what reads the file; called in several threads, for files that are not kept.
        """
        missing = [path for path in reads if path not in self._kept]
        if not missing:  # also in the threads that read delete files, which change nothing here
            return [self._kept[path] for path in reads]
        contents = ExecutorFactory.get_or_create().map(lambda path: reads[path](), missing)
        new = dict(zip(missing, contents, strict=True))
        tables = [new[path] if path in new else self._kept[path] for path in reads]
        if sum(table.nbytes for table in (*self._kept.values(), *new.values())) > _KEPT_BYTES:
            self._kept.clear()
        self._kept.update(new)
        return tables

    def _scan(self, task: FileScanTask, schema: Schema) -> Iterator[pa.RecordBatch]:
        """Yield a file's rows without those deleted by position, with the names and types of a schema."""
        scan = ArrowScan(self.table.metadata, self.table.io, schema, AlwaysTrue())
        # Arrow reads times of ORC as nanoseconds. In tables of format 3, pyiceberg makes microseconds of them
        # only if told so, and then also of those that are to stay nanoseconds.
        has_nanoseconds = any(isinstance(field.field_type, _NANOSECONDS) for field in schema.fields)
        if task.file.file_format == FileFormat.ORC and not has_nanoseconds:
            scan._downcast_ns_timestamp_to_us = True  # noqa: SLF001
        positions = self._positions(task)
        deletes = {task.file.file_path: positions} if positions else {}
        arrow_schema = schema_to_pyarrow(schema, include_field_ids=False)
        # Its public method keeps all rows of the file in memory.
        for batch in scan._record_batches_from_scan_tasks_and_deletes([task], deletes):  # noqa: SLF001
            yield batch.cast(arrow_schema)


def _joined(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield batches in tables of so many rows, or less if they are large.

    Arrow hashes all keys again for each search, which takes longer than to search a batch for many keys.
    """
    joined: list[pa.RecordBatch] = []
    joined_rows = joined_bytes = 0
    for batch in batches:
        joined.append(batch)
        joined_rows += len(batch)
        joined_bytes += batch.nbytes
        if joined_rows >= rows or joined_bytes >= _JOINED_BYTES:
            yield pa.Table.from_batches(joined)
            joined.clear()
            joined_rows = joined_bytes = 0
    if joined:
        yield pa.Table.from_batches(joined)


class _Rows:
    """The distinct rows of some columns, to be found among others; null equals null.

    Rows get numbers column by column: each pair of the number so far and the value of the next column gets a
    number of its own, so that no pair of numbers exceeds 64 bits.
    """

    def __init__(self, columns: Sequence[pa.ChunkedArray]) -> None:
        first, *others = map(_storage, columns)
        self._first = first.unique()
        self._others: list[tuple[pa.Array, pa.Array]] = []
        numbers = _places(first, self._first)
        for values in others:
            distinct = values.unique()
            pairs = _pairs(numbers, values, distinct)
            distinct_pairs = pairs.unique()
            self._others.append((distinct, distinct_pairs))
            numbers = _places(pairs, distinct_pairs)

    def __len__(self) -> int:
        """Number of distinct rows."""
        return len(self._others[-1][1] if self._others else self._first)

    def find(self, columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
        """Return the number of each row; null for one that is not among them."""
        first, *others = map(_storage, columns)
        numbers = _places(first, self._first)
        for values, (distinct, distinct_pairs) in zip(others, self._others, strict=True):
            numbers = _places(_pairs(numbers, values, distinct), distinct_pairs)
        return numbers


def _pairs(numbers: pa.Array, values: pa.Array, distinct: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(numbers, len(distinct)), _places(values, distinct))


def _places(values: pa.Array, distinct: pa.Array) -> pa.Array:
    return pc.index_in(values, value_set=distinct).cast(pa.int64())


def _storage(column: pa.Array) -> pa.Array:
    """Return the values of a column whose type, such as that of UUIDs, Arrow does not compare."""
    is_extension = isinstance(column.type, pa.BaseExtensionType)
    return column.cast(column.type.storage_type) if is_extension else column
