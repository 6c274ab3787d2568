"""Reads JSON lines in the JVM, block by block, if Jackson, which Pinot uses, would read the same.

``JsonLines.java`` parses bytes directly into arrays, which become Arrow's buffers: there are no objects for
single values on either side. The first rows determine the type of every column; a value of another type, or
text that only Jackson can judge, is read row by row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from jvm_bridge.builder.planning import Field, TableRequirements, Unsuitable, plan_column
from jvm_bridge.builder.sources.java_lines import JAVA_TYPES, line_reader, read_batches
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, Batch, Source, open_bytes

__all__ = ["first_keys", "open_json"]

_PEEK_BYTES = 256 << 10
_UNREADABLE: tuple[type[Exception], ...] = (OSError, *CORRUPT_GZIP)

_FRACTIONS = ("FLOAT", "DOUBLE")
_NUMBER_TYPES = {"INT": pa.int32(), "FLOAT": pa.float64(), "DOUBLE": pa.float64()}
_TEXT_BY_NATURE = frozenset(["STRING", "BYTES", "JSON", "BIG_DECIMAL"])


def open_json(path: Path, table: TableRequirements) -> Source:
    """Plan a file of JSON lines.

    Raises:
        Unsuitable: Only Jackson can read it; also while batches are read.
    """
    kinds = first_keys(path)
    types = {field.name: _arrow_type(field, kinds.get(field.name)) for field in table.fields}
    plans = tuple(plan_column(field, types[field.name]) for field in table.fields)
    for name in sorted(table.arguments):
        kind = types.setdefault(name, _argument_type(name, kinds.get(name)))
        if pa.types.is_list(kind):
            raise Unsuitable(f"column {name} may have lists and is used by a transform or filter")
    return Source(plans, _batches(path, table, types), has_any_width=True)


def first_keys(path: Path) -> Mapping[str, Any]:
    """Return the keys of the first rows, each with its first value that is not null.

    Raises:
        Unsuitable: The file does not have JSON lines.
    """
    with closing(open_bytes(path)) as stream:
        try:
            lines = stream.read(_PEEK_BYTES).split(b"\n")
        except _UNREADABLE as error:
            raise Unsuitable(f"unreadable: {error}") from error
    kinds: dict[str, Any] = {}
    for line in lines[:-1] if len(lines) > 1 else lines:
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise Unsuitable(f"the first rows are not JSON lines: {error}") from error
            if not isinstance(row, dict):
                raise Unsuitable("the first rows are not JSON objects")
            for key, value in row.items():
                if kinds.get(key) in (None, []):
                    kinds[key] = value
    return kinds


def _arrow_type(field: Field, sample: Any) -> pa.DataType:
    if isinstance(sample, list):
        element = next((value for value in sample if value is not None), None)
        return pa.list_(_scalar_type(field, element))
    if sample is None and not field.single_value:
        return pa.list_(_scalar_type(field, None))
    return _scalar_type(field, sample)


def _scalar_type(field: Field, sample: Any) -> pa.DataType:
    if sample is None:
        sample = "" if field.data_type in _TEXT_BY_NATURE else field.data_type == "BOOLEAN" or 0
    if isinstance(sample, bool):
        return pa.bool_()
    if isinstance(sample, str):
        return pa.string()
    if isinstance(sample, int):
        return _NUMBER_TYPES.get(field.data_type, pa.int64())
    if isinstance(sample, float):
        if field.data_type not in _FRACTIONS:
            raise Unsuitable(f"column {field.name} is {field.data_type}, but has fractions")
        return pa.float64()
    raise Unsuitable(f"column {field.name} has {_kind_of(sample)}")


def _kind_of(value: Any) -> str:
    return "objects" if isinstance(value, dict) else "lists"


def _argument_type(name: str, sample: Any) -> pa.DataType:
    # A key that the first rows lack may only have strings or nulls later: Arrow rejects everything else.
    for kind, arrow_type in (
        (str | None, pa.string()),
        (bool, pa.bool_()),
        (int, pa.int64()),
        (float, pa.float64()),
    ):
        if isinstance(sample, kind):
            return arrow_type
    raise Unsuitable(f"column {name} has {_kind_of(sample)}")


def _batches(path: Path, table: TableRequirements, types: Mapping[str, pa.DataType]) -> Iterator[Batch]:
    # A transform may get an integer or a fraction, and a FLOAT would be rounded twice.
    exact = {*table.arguments, *(field.name for field in table.fields if field.data_type == "FLOAT")}
    lines = line_reader("JsonLines")()
    values = {
        name: lines.select(name, JAVA_TYPES[_values_type(kind)], pa.types.is_list(kind), name in exact)
        for name, kind in types.items()
    }
    for columns, rows in read_batches(path, lines, values, types):
        yield Batch.of(columns, rows, table)


def _values_type(source: pa.DataType) -> pa.DataType:
    return source.value_type if pa.types.is_list(source) else source
