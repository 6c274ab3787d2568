"""What a column of files should be in a table: its type, whether it has several values, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal

from controller_client.common.redaction import MASK, is_secret
from minion_tasks.inference.samples import ColumnSample
from minion_tasks.inference.times import TimeFormat, format_of_numbers, format_of_texts

__all__ = ["ColumnGuess", "guess_column"]

_INT_MAX, _LONG_MAX = 2**31 - 1, 2**63 - 1
_LONGEST_NUMBER = 20
_SPARE = 4
"""Whole numbers may grow: INT only if this many times as large ones fit."""
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]{1,3}(?:\.?[0-9]{3})*,[0-9]+")
_KEY = re.compile(r"(?i:(?:^|[_\W])(?:ids?|keys?|codes?|no|number|year|month|day|hour|minute)|nr)$|Id$")
_DIALLED = re.compile(r"(?i)(?:^|[_\W])(?:zip|zip_?code|post_?code|plz|phone|tel|fax|mobile)$")
"""What may begin with a zero in a later row."""
_TIME = re.compile(r"(?i)(?:^|[_\W])(?:ts|timestamp|at|when|day|epoch)(?:$|[_\W])|time|date|[a-z]At$")
_DIGITS_OF_DOUBLE = 15
_SHOWN = 40


@dataclass(frozen=True)
class ColumnGuess:
    """What a column should be.

    Attributes:
        name: The column.
        data_type: Its type in Pinot.
        reason: Why, in a sentence without a full stop.
        is_metric: Whether it is a number to add up.
        has_lists: Whether a row can have several values.
        time: Its format if it has points in time.
        nulls: How many of the rows have no value.
        rows: How many rows were seen.
        distinct: Number of distinct values among them.
    """

    name: str
    data_type: str
    reason: str
    is_metric: bool = False
    has_lists: bool = False
    time: TimeFormat | None = None
    nulls: int = 0
    rows: int = 0
    distinct: int = 0


@dataclass(frozen=True)
class _Type:
    data_type: str
    reason: str
    time: TimeFormat | None = None
    has_lists: bool = False


def guess_column(column: ColumnSample, *, is_text: bool) -> ColumnGuess:
    """Return what a column should be.

    Args:
        column: Its values.
        is_text: Whether the values are texts in place of other types, as in CSV.
    """
    kind = _type_of(column, is_text=is_text)
    is_number = kind.data_type in ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL")
    is_fraction = kind.data_type in ("FLOAT", "DOUBLE", "BIG_DECIMAL")
    is_metric = is_number and not kind.has_lists and kind.time is None
    return ColumnGuess(
        column.name,
        kind.data_type,
        kind.reason,
        is_metric=is_metric and (is_fraction or not _KEY.search(column.name)),
        has_lists=kind.has_lists,
        time=kind.time,
        nulls=column.nulls,
        rows=column.nulls + len(column.values),
        distinct=len(
            {value if isinstance(value, (str, int, float)) else repr(value) for value in column.values}
        ),
    )


def _type_of(column: ColumnSample, *, is_text: bool) -> _Type:
    values = column.values
    if not values:
        return _Type("STRING", f"none of its {column.nulls:,} rows has a value")
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return _of_texts(column) if is_text else _of_strings(column)
    if list in kinds:
        return _of_lists(column)
    if dict in kinds:
        return _Type("JSON", "it has objects")
    for types, guess in _BY_TYPE:
        if kinds <= types:
            return guess(column)
    return _Type("STRING", f"values of type {', '.join(sorted(kind.__name__ for kind in kinds))}")


def _of_texts(column: ColumnSample) -> _Type:
    values: Sequence[str] = column.values
    if all(_WHOLE.fullmatch(value) for value in values):
        return _of_digits(column)
    if all(_NUMBER.fullmatch(value) for value in values):
        digits = _most_digits(values)
        if digits > _DIGITS_OF_DOUBLE:
            return _Type("BIG_DECIMAL", f"numbers of up to {digits} digits, which DOUBLE would round")
        return _Type("DOUBLE", f"numbers with a fraction, such as {_sample(column)}")
    if all(_COMMA_NUMBER.fullmatch(value) for value in values):
        return _Type(
            "STRING",
            f"numbers with a decimal comma, such as {_sample(column)}: write a point, as Pinot reads",
        )
    if {value.lower() for value in values} <= {"true", "false"}:
        return _Type("BOOLEAN", "its values are true and false")
    return _of_strings(column)


def _of_digits(column: ColumnSample) -> _Type:
    values: Sequence[str] = column.values
    zeros = [value for value in values if _LEADING_ZERO.fullmatch(value)]
    if zeros:
        return _Type(
            "STRING", f"digits with zeros in front, such as {_sample(column, zeros[0])}: not a number"
        )
    if _DIALLED.search(column.name):
        return _Type("STRING", f"digits to be dialled or written on a letter, such as {_sample(column)}")
    if (time_type := _as_times(column)) is not None:
        return time_type
    longest = max(values, key=len)
    if len(longest) > _LONGEST_NUMBER or not all(abs(int(value)) <= _LONG_MAX for value in values):
        return _Type("STRING", f"more digits than LONG has, such as {_sample(column, longest)}: not a number")
    return _of_integers(replace(column, values=[int(value) for value in values]))


def _of_strings(column: ColumnSample) -> _Type:
    values: Sequence[str] = column.values
    if (time_type := _as_times(column)) is not None:
        return time_type
    if all(value[:1] in "{[" for value in values) and all(_is_json(value) for value in values):
        return _Type("JSON", "its texts are objects or lists of JSON")
    return _Type("STRING", f"texts, such as {_sample(column)}")


def _as_times(column: ColumnSample) -> _Type | None:
    """Return the type of texts that are points in time: digits alone only if the column's name says so."""
    time_format = format_of_texts(column.values)
    if time_format is None or (_WHOLE.fullmatch(column.values[0]) and not _TIME.search(column.name)):
        return None
    rivals = time_format.rivals
    or_others = f"; {' or '.join(rivals)} would fit as well: check it" if rivals else ""
    return _Type(time_format.data_type, f"points in time, such as {_sample(column)}{or_others}", time_format)


def _of_integers(column: ColumnSample) -> _Type:
    smallest, greatest = min(column.values), max(column.values)
    range_text = f"whole numbers from {_sample(column, smallest)} to {_sample(column, greatest)}"
    if _TIME.search(column.name):
        unit = format_of_numbers(smallest, greatest)
        if unit is not None:
            word = unit.granularity.partition(":")[2].lower()
            return _Type(unit.data_type, f"{range_text}: {word} since 1970, by the column's name", unit)
    if column.declared in _NARROW:
        return _Type("INT", f"{column.declared} in the files")
    if column.declared in _WIDE and -_LONG_MAX <= smallest <= greatest <= _LONG_MAX:
        return _Type("LONG", f"{column.declared} in the files")
    if max(abs(smallest), abs(greatest)) * _SPARE <= _INT_MAX:
        return _Type("INT", range_text)
    if -_LONG_MAX <= smallest <= greatest <= _LONG_MAX:
        return _Type("LONG", range_text)
    return _Type("BIG_DECIMAL", f"{range_text}, which LONG does not have")


def _of_floats(column: ColumnSample) -> _Type:
    if column.declared in ("float", "halffloat"):
        return _Type("FLOAT", f"{column.declared} in the files")
    return _Type("DOUBLE", f"numbers with a fraction, such as {_sample(column)}")


def _of_lists(column: ColumnSample) -> _Type:
    if not all(isinstance(value, list) for value in column.values):
        return _Type("JSON", "it has lists and other values")
    items = [item for value in column.values for item in value]
    if not items:
        return _Type("JSON", "its lists are empty")
    kinds = {type(item) for item in items}
    if not any(kinds <= alike for alike in ({str}, {int, float, Decimal})):
        return _Type("JSON", "it has lists of lists, of objects, of nulls or of several types")
    inner = _type_of(ColumnSample(column.name, items), is_text=False)
    data_type = inner.data_type if inner.data_type in ("INT", "LONG", "DOUBLE") else "STRING"
    return _Type(data_type, f"lists of {inner.reason}", has_lists=True)


def _of_decimals(column: ColumnSample) -> _Type:
    if column.declared is None and _most_digits(map(str, column.values)) <= _DIGITS_OF_DOUBLE:
        return _Type("DOUBLE", f"numbers with a fraction, such as {_sample(column)}")
    digits = max(_digits(str(value)) for value in column.values)
    return _Type("BIG_DECIMAL", f"decimal numbers of up to {digits} digits")


def _of_times(column: ColumnSample) -> _Type:
    has_more = any(isinstance(value, datetime) and value.microsecond % 1000 for value in column.values)
    more = ", of which what is finer than milliseconds is cut off" if has_more else ""
    reason = f"{column.declared or 'points in time'} in the files{more}"
    return _Type("TIMESTAMP", reason, TimeFormat.of_timestamps(column.values))


def _constant(data_type: str, reason: str) -> Callable[[ColumnSample], _Type]:
    return lambda _column: _Type(data_type, reason)


_NARROW = ("int8", "int16", "int32", "uint8", "uint16", "int")
_WIDE = ("int64", "uint32", "uint64", "long")
_BY_TYPE: Sequence[tuple[set[type], Callable[[ColumnSample], _Type]]] = (
    ({bool}, _constant("BOOLEAN", "its values are true and false")),
    ({int}, _of_integers),
    ({int, float}, _of_floats),
    ({int, float, Decimal}, _of_decimals),
    ({datetime, date}, _of_times),
    ({time}, _constant("STRING", "times of day, as texts")),
    ({bytes}, _constant("BYTES", "bytes, not text")),
)


def _most_digits(values: Iterable[str]) -> int:
    """Return the most digits of numbers that are not DOUBLEs to the last digit."""
    return max((_digits(value) for value in values if not _is_double(value)), default=0)


def _is_double(value: str) -> bool:
    """Whether a number is what a program writes for a DOUBLE, however many digits it has."""
    return Decimal(repr(float(value))) == Decimal(value)


def _digits(value: str) -> int:
    return len(re.sub(r"[eE].*|[^0-9]", "", value).strip("0"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _sample(column: ColumnSample, value: object = None) -> str:
    """Return a value to show, by default the first; reasons are in files that are committed."""
    text = str(column.values[0] if value is None else value)
    return MASK if is_secret(column.name, text) else text[:_SHOWN]
