"""A query's result as an Arrow table, column by column.

====================  =====================================================================================
Pinot                 Arrow
====================  =====================================================================================
INT, LONG             int32, int64
FLOAT, DOUBLE         float32, float64; including NaN and infinities
BOOLEAN               bool
TIMESTAMP             timestamp[ms] without a zone: as written by the broker, in its JVM's time zone
BIG_DECIMAL           decimal128 with 38 digits and the largest scale of all values, or decimal256
                      with 76
STRING, JSON          string
BYTES                 binary
BYTES_ARRAY           list<string>: as written by Pinot, in Base64 or hexadecimal, depending on the engine
other arrays          list of the types above
MAP and others        string with JSON
====================  =====================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from controller_client.broker.rows import Column, ResultRows
from controller_client.common.arrow_types import ARROW_TYPES
from controller_client.errors import DataError

__all__ = ["arrow_column", "arrow_table"]

_DIGITS_128, _DIGITS_256 = 38, 76
_GREGORIAN = "1582-10-15"
"""Java writes dates before this day in the Julian calendar."""
_JULIAN_CALENDAR = pa.scalar(_GREGORIAN).cast(pa.timestamp("ms"))


def arrow_table(result: ResultRows) -> pa.Table:
    """Return a result as an Arrow table.

    Raises:
        DataError: A value does not fit its column's type; the error names the column.
    """
    arrays = [arrow_column(result, number) for number in range(len(result.columns))]
    return pa.Table.from_arrays(arrays, names=[column.name for column in result.columns])


def arrow_column(result: ResultRows, number: int) -> pa.Array:
    """Return a column of a result.

    Args:
        result: The result.
        number: Index of the column, from 0.

    Raises:
        DataError: See :func:`arrow_table`.
    """
    column = result.columns[number]
    values = [row[number] for row in result.cells]
    try:
        return _lists(values, column) if column.data_type.endswith("_ARRAY") else _flat(values, column)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"the column {column.name} ({column.data_type}) cannot be converted to Arrow: {error}",
            remedy="select it as another type with CAST, or use the result's rows",
        ) from error


def _flat(values: list[Any], column: Column) -> pa.Array:
    kind = column.data_type.removesuffix("_ARRAY")
    if column.data_type == "BYTES_ARRAY":
        return pa.array(values, pa.string())
    return _MAKE.get(kind, _texts)(values, kind)


def _lists(values: list[Any], column: Column) -> pa.Array:
    elements = _flat(list(chain.from_iterable(value or () for value in values)), column)
    ends = accumulate((len(value or ()) for value in values), initial=0)
    # A null offset makes the list that starts there null.
    offsets = [None if value is None else end for value, end in zip(chain(values, [()]), ends, strict=True)]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)


def _same(values: list[Any], kind: str) -> pa.Array:
    return pa.array(values, ARROW_TYPES[kind])


def _numbers(values: list[Any], kind: str) -> pa.Array:
    try:
        return pa.array(values, ARROW_TYPES[kind])
    except (pa.ArrowException, TypeError):
        # NaN and infinities are written as strings.
        return pa.array([None if value is None else float(value) for value in values], ARROW_TYPES[kind])


def _times(values: list[Any], kind: str) -> pa.Array:
    times = pa.array(values, pa.string()).cast(ARROW_TYPES[kind])
    least = pc.min(times)
    if least.is_valid and pc.less(least, _JULIAN_CALENDAR).as_py():
        raise ValueError(f"{least} is in the Julian calendar; select it as a LONG")
    return times


def _bytes(values: list[Any], kind: str) -> pa.Array:
    return pa.array([None if value is None else bytes.fromhex(value) for value in values], ARROW_TYPES[kind])


def _decimals(values: list[Any], _: str) -> pa.Array:
    texts = pa.array([None if value is None else _plain(value) for value in values], pa.string())
    # Neither a sign nor a zero before the point is one of Arrow's digits.
    digits = pc.utf8_ltrim(texts, "-0")
    length, point = pc.utf8_length(digits), pc.find_substring(digits, ".")
    ends = pc.if_else(pc.less(point, 0), length, point)
    scale = pc.max(pc.subtract(pc.subtract(length, ends), 1)).as_py()
    scale = max(scale or 0, 0)
    wanted = (pc.max(ends).as_py() or 0) + scale
    if wanted > _DIGITS_256:
        raise ValueError(f"its values have {wanted} digits, but Arrow's decimals have at most {_DIGITS_256}")
    kind = pa.decimal128(_DIGITS_128, scale) if wanted <= _DIGITS_128 else pa.decimal256(_DIGITS_256, scale)
    return texts.cast(kind)


def _plain(value: Any) -> str:
    """Return a decimal without an exponent; Pinot writes it as a string or a number."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _texts(values: list[Any], _: str) -> pa.Array:
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_MAKE: Mapping[str, Callable[[list[Any], str], pa.Array]] = {
    **dict.fromkeys(("INT", "LONG", "BOOLEAN", "STRING", "JSON"), _same),
    **dict.fromkeys(("FLOAT", "DOUBLE"), _numbers),
    "TIMESTAMP": _times,
    "BYTES": _bytes,
    "BIG_DECIMAL": _decimals,
}
