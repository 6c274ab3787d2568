"""Reads Parquet with Arrow, times as Pinot's own reader does: as such, or as the numbers in the file.

Columns that the table declares as times are converted to the table's unit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.sources.file_columns import (
    FileColumns,
    as_meant,
    by_row,
    check_names,
    list_type,
    meant_type,
    reading,
    time_numbers,
)
from jvm_bridge.builder.sources.lists import with_values
from jvm_bridge.builder.sources.source import Batch
from jvm_bridge.time_conversion import MILLI_NS, TimeConversion

__all__ = ["parquet_columns", "parquet_times"]

_BATCH_ROWS = 65_536
_BUFFER_BYTES = 128 << 10  # of each column
_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_TEXTS = ("String", "Enum", "JSON")


def parquet_times(file: SourceFile) -> Mapping[str, int | None]:
    """Return the file's columns, each with its unit in nanoseconds if it is a point in time.

    Raises:
        UnreadableFileError: It is not a complete Parquet file, or a name appears twice.
        SetupError: This version of pyarrow changes values of such files without an error.
    """
    with reading(file), pq.ParquetFile(file.path) as opened:
        check_names(file, opened.schema_arrow.names)
        return {field.name: None if leaf is None else _step_ns(leaf) for field, leaf in _fields(opened)}


def _fields(file: Any) -> Iterator[tuple[Any, Any | None]]:
    """Yield the fields, each with its leaf if it has values or lists of them."""
    # Each attribute builds a new schema, of all columns.
    schema, begin = file.schema, 0
    for field in file.schema_arrow:
        end = begin + _leaf_count(field.type)
        kind = field.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            kind = kind.value_type
        yield field, None if pa.types.is_nested(kind) else schema.column(begin)
        begin = end


def _leaf_count(kind: pa.DataType) -> int:
    if not pa.types.is_nested(kind):
        return 1
    if pa.types.is_map(kind):
        return _leaf_count(kind.key_type) + _leaf_count(kind.item_type)
    if pa.types.is_struct(kind):
        return sum(_leaf_count(field.type) for field in kind)
    return _leaf_count(kind.value_type)


def _logical(leaf: Any) -> Mapping[str, Any]:
    logical: Mapping[str, Any] = json.loads(leaf.logical_type.to_json())
    return logical


def _step_ns(leaf: Any) -> int | None:
    if leaf.physical_type == "INT96":
        return MILLI_NS
    logical = _logical(leaf)
    if logical["Type"] == "Date":
        return UNIT_NS["DAYS"]
    return UNIT_NS.get(str(logical.get("timeUnit")).upper()) if logical["Type"] == "Timestamp" else None


def parquet_columns(file: SourceFile) -> FileColumns:
    """Return the columns of a Parquet file.

    Raises:
        UnreadableFileError: It is not a Parquet file; also while batches are read.
        DataError: While batches are read: a time is out of range.
    """
    types: dict[str, pa.DataType] = {}
    leaves: dict[str, _Leaf | None] = {}
    with reading(file), pq.ParquetFile(file.path) as opened:
        for field, column in _fields(opened):
            leaf = (
                None
                if column is None
                else _Leaf(column, file.times.get(field.name), keeps_times=file.keeps_times)
            )
            leaves[field.name] = leaf
            types[field.name] = meant_type(field.type) if leaf is None else leaf.type_of(field.type)
    return FileColumns(types, partial(_batches, file, types, leaves), frozenset(file.times))


class _Leaf:
    """How the values of a column are stored."""

    def __init__(self, leaf: Any, conversion: TimeConversion | None, *, keeps_times: bool) -> None:
        logical = _logical(leaf)
        self._unit = "ms" if leaf.physical_type == "INT96" else _UNITS.get(str(logical.get("timeUnit")))
        self._is_timestamp = leaf.physical_type == "INT96" or logical["Type"] == "Timestamp"
        self._is_text = logical["Type"] in _TEXTS
        self._conversion = conversion
        self._keeps_times = keeps_times and conversion is None

    def type_of(self, kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return list_type(self.type_of(kind.value_type))
        if self._keeps(kind):
            return self._time_type(kind)
        if self._conversion is not None or self._is_timestamp:
            return pa.int64()
        if pa.types.is_date(kind):
            return pa.int32()
        return pa.large_string() if self._is_text else meant_type(kind)

    def _keeps(self, kind: pa.DataType) -> bool:
        return self._keeps_times and pa.types.is_temporal(kind) and not pa.types.is_duration(kind)

    def _time_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.timestamp(str(self._unit)) if self._is_timestamp else kind

    def values(self, column: Any) -> Any:
        """Return a column with its times as they are passed on: as such, or as numbers for the table."""
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            return with_values(column, self.values)
        if self._is_timestamp and pa.types.is_timestamp(column.type):
            # The file may declare a coarser unit for Arrow than the one that it stores.
            column = column.cast(pa.timestamp(str(self._unit), column.type.tz))
        if self._keeps(column.type):
            return column.view(self._time_type(column.type))  # without the time zone
        column = time_numbers(column)
        return column if self._conversion is None else self._conversion.applied(column)


def _batches(
    file: SourceFile,
    types: Mapping[str, pa.DataType],
    leaves: Mapping[str, _Leaf | None],
    names: Sequence[str],
) -> Iterator[Batch]:
    begin = 0
    with reading(file):
        for batch in _raw_batches(file.path, names):
            columns = {}
            for name in names:
                convert = partial(_as_meant, kind=types[name], leaf=leaves[name])
                columns[name] = by_row(file, name, batch.column(name), begin, convert)
            yield Batch(columns, len(batch))
            begin += len(batch)


def _as_meant(column: Any, kind: pa.DataType, leaf: _Leaf | None) -> Any:
    return as_meant(column if leaf is None else leaf.values(column), kind)


def _raw_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    # Arrow selects columns by their paths, in which a dot also separates the parts of a nested column.
    selected = None if any("." in name for name in names) else list(names)
    # With other options each row group is read at once, and the file decides how large these are.
    options = {"coerce_int96_timestamp_unit": "ms", "buffer_size": _BUFFER_BYTES, "pre_buffer": False}
    with pq.ParquetFile(path, **options) as opened:
        yield from opened.iter_batches(batch_size=_BATCH_ROWS, columns=selected, use_threads=False)
