"""Reads JSON lines with Arrow if Jackson, which Pinot uses, would read the same.

Arrow gets the type of every field, so that it rejects values of other types instead of guessing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson

from jvm_bridge.builder.planning import Field, TableRequirements, Unsuitable, plan_column
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, Batch, Source, open_bytes

__all__ = ["NullRowGuard", "first_keys", "open_json"]

_BLOCK_BYTES = 4 << 20
_PEEK_BYTES = 256 << 10
_UNREADABLE: tuple[type[Exception], ...] = (pa.ArrowException, OSError, *CORRUPT_GZIP)
_EXACT_IN_DOUBLE = 2.0**53
_BLANKS = b" \t\r"
# Each starts with a fixed byte, which makes the search twenty times faster than with alternatives. The second
# may match within a string: then Pinot reads a file that Arrow could have read.
_NULL_LINE = re.compile(rb"\n[ \t\r]*null")
_NULL_AFTER_OBJECT = re.compile(rb"\}[ \t\r]*null")

_FRACTIONS = ("FLOAT", "DOUBLE")
_NUMBER_TYPES = {"INT": pa.int32(), "FLOAT": pa.float64(), "DOUBLE": pa.float64()}
_TEXT_BY_NATURE = frozenset(["STRING", "BYTES", "JSON", "BIG_DECIMAL"])


def open_json(path: Path, table: TableRequirements) -> Source:
    """Plan a file of JSON lines.

    Raises:
        Unsuitable: Arrow is not certain to read the same as Jackson; also while batches are read.
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
            raise Unsuitable(f"column {field.name} has fractions, which Arrow rounds before they are checked")
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
    floats = [name for name, kind in types.items() if _values_type(kind) == pa.float64()]
    # A transform may get an integer or a fraction, and a FLOAT would be rounded twice.
    exact = {*table.arguments, *(field.name for field in table.fields if field.data_type == "FLOAT")}
    try:
        with closing(open_bytes(path)) as stream, _reader(stream, types) as reader:
            for batch in reader:
                columns = {name: batch.column(name) for name in types}
                for name in floats:
                    _refuse_odd_floats(name, columns[name], exact=name in exact)
                yield Batch.of(columns, batch.num_rows, table)
    except _UNREADABLE as error:
        raise Unsuitable(f"Arrow cannot read it: {str(error).splitlines()[0][:200]}") from error


def _reader(stream: IO[bytes], types: Mapping[str, pa.DataType]) -> Any:
    return pajson.open_json(
        pa.PythonFile(NullRowGuard(stream), mode="r"),
        read_options=pajson.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=pajson.ParseOptions(
            explicit_schema=pa.schema(list(types.items())),
            newlines_in_values=False,
            unexpected_field_behavior="ignore",
        ),
    )


class NullRowGuard:
    """Passes a stream to Arrow, and raises :class:`Unsuitable` at a row that is ``null``.

    If such a line is the first of a block, Arrow 26 crashes the process. After an object, it is a row without
    values for Arrow, but an error for Pinot.
    """

    closed = False

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._begun = b"\n"
        """A possible start of a null, from the line break or brace before it on; else empty."""

    def read(self, size: int) -> bytes:
        """Read bytes; called by Arrow."""
        read = self._stream.read(size)
        text = self._begun + read
        if b"null" in text and (_NULL_LINE.search(text) or _NULL_AFTER_OBJECT.search(text)):
            raise Unsuitable("a row is null")
        last = max(text.rfind(b"\n"), text.rfind(b"}"))
        behind = text[last + 1 :].lstrip(_BLANKS)
        self._begun = text[last : last + 1] + behind if last >= 0 and b"null".startswith(behind) else b""
        return read

    def close(self) -> None:
        """Do nothing, as the opener closes the stream; called by Arrow."""


def _values_type(source: pa.DataType) -> pa.DataType:
    return source.value_type if pa.types.is_list(source) else source


def _refuse_odd_floats(name: str, column: Any, *, exact: bool) -> None:
    values = column.flatten() if pa.types.is_list(column.type) else column
    numbers = values.drop_null().to_numpy(zero_copy_only=False)
    # "-0" is an integer for Jackson, and then has no sign.
    if not np.isfinite(numbers).all() or ((numbers == 0) & np.signbit(numbers)).any():
        raise Unsuitable(f"column {name} has numbers that are not finite, or a negative zero")
    if exact and (np.abs(numbers) >= _EXACT_IN_DOUBLE).any():
        raise Unsuitable(
            f"column {name} has numbers of 2^53 or more, and is FLOAT or used by a transform or filter"
        )
