"""Whether Pinot stores a message's value in a column, and as what.

Pinot drops a row if it cannot convert one of its values; the key's previous row must then stay visible. So a
value counts as stored only if every supported version of Pinot stores it; if versions differ, or only Java
can read the value, the row is refused and counted. A contract test compares this with Pinot's classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

import orjson

__all__ = ["ALWAYS_STORED", "is_stored", "whole_number"]

_NONE = type(None)
ALWAYS_STORED: Mapping[str, Collection[type]] = {
    "INT": {_NONE},
    "LONG": {_NONE},
    "FLOAT": {int, float, _NONE},
    "DOUBLE": {int, float, _NONE},
    "BIG_DECIMAL": {int, float, _NONE},
    "BOOLEAN": {bool, int, str, _NONE},
    "TIMESTAMP": {_NONE},
    "STRING": {str, int, float, bool, _NONE},
    "BYTES": {bytes, _NONE},
    "JSON": {dict, _NONE},
    "MAP": {dict, _NONE},
}
"""By data type of a column, the types whose values are always stored."""

_MAX_LEVELS = 100
"""Of lists and objects within each other. JSON may have 1,024, which is more than Python's stack."""
_INT, _LONG = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
# Java's trim() removes all characters up to and including the space.
_SPACES = "".join(map(chr, range(33)))
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_HEXADECIMAL = re.compile(r"([0-9a-fA-F]{2})*")
_SQL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?")


def whole_number(value: object, kind: str) -> int | None:
    """Return the number that an INT, LONG, BOOLEAN or TIMESTAMP column stores; None if it stores none.

    Args:
        value: A message's value; not None.
        kind: The column's data type.
    """
    return _WHOLE_NUMBERS[kind](value)


def is_stored(value: object, kind: str, *, single: bool = True) -> bool:
    """Whether a column stores a value.

    Args:
        value: A message's value; None is stored as the column's default.
        kind: The column's data type.
        single: Whether the column has one value per row.
    """
    if value is None or kind in ("JSON", "MAP"):
        return value is None or _STORED[kind](value)
    values = _unwrapped(value)
    if values is None or (single and len(values) > 1):
        return False
    return all(_STORED[kind](each) for each in values)


def _unwrapped(value: object) -> Sequence[object] | None:
    """Return the values in a list or object: Pinot unwraps single values and drops nulls.

    None: a part has more than one value, or is nested deeper than :data:`_MAX_LEVELS`.
    """
    if not isinstance(value, list | dict):
        return [value]
    values: list[object] = []
    for part in _parts(value):
        within: list[object] = []
        level = [part]
        for _ in range(_MAX_LEVELS):
            within += [one for one in level if one is not None and not isinstance(one, list | dict)]
            level = [inner for one in level if isinstance(one, list | dict) for inner in _parts(one)]
            if not level or len(within) > 1:
                break
        if level or len(within) > 1:
            return None
        values += within
    return values


def _parts(value: list[object] | dict[object, object]) -> Collection[object]:
    return value.values() if isinstance(value, dict) else value


def _of_long(value: object) -> int | None:
    return _whole(value, _LONG)


def _of_int(value: object) -> int | None:
    number = _whole(value, _LONG if type(value) is int else _INT)
    # As Java casts a long to an int.
    return None if number is None else (number + 2**31) % 2**32 - 2**31


def _whole(value: object, limits: tuple[int, int]) -> int | None:
    if type(value) is float:
        # At the limits, a float may stand for an integer outside the range.
        if not math.isfinite(value) or not _LONG[0] < value < _LONG[1]:
            return None
        value = int(value)
    elif type(value) is str:
        text = value.strip(_SPACES)
        if not _WHOLE.fullmatch(text):
            return None
        value = int(text)
    if type(value) is not int or not limits[0] <= value <= limits[1]:
        return None
    return value


def _of_boolean(value: object) -> int | None:
    if type(value) in (bool, int):
        return int(value != 0)
    if type(value) is str:
        return int(value.strip(_SPACES).lower() == "true" or value.strip(_SPACES) == "1")
    return None


def _of_timestamp(value: object) -> int | None:
    if type(value) is int:
        # JSON numbers that fit Java's int are parsed as int, which Pinot does not convert to a time.
        return value if _LONG[0] <= value <= _LONG[1] and not _INT[0] <= value <= _INT[1] else None
    if type(value) is not str:
        return None
    text = value.strip(_SPACES)
    if _SQL_TIME.fullmatch(text):
        try:
            # Digits below milliseconds are truncated.
            time = datetime.fromisoformat(text[:23].ljust(20, ".").ljust(23, "0")).replace(tzinfo=UTC)
        except ValueError:
            return None
        return round(time.timestamp() * 1000)
    return _whole(text, _LONG)


def _is_decimal(value: object) -> bool:
    if type(value) is str:
        return _DECIMAL.fullmatch(value.strip(_SPACES)) is not None
    return type(value) in (int, float)


def _is_text(value: object) -> bool:
    return type(value) in (str, int, float, bool)


def _is_bytes(value: object) -> bool:
    return type(value) is bytes or (type(value) is str and _HEXADECIMAL.fullmatch(value) is not None)


def _is_json(value: object) -> bool:
    if type(value) is list:
        return None not in value
    if type(value) is not str:
        return type(value) in (dict, int, bool)
    try:
        orjson.loads(value)
    except ValueError:
        return False
    return True


_WHOLE_NUMBERS: Mapping[str, Callable[[object], int | None]] = {
    "INT": _of_int,
    "LONG": _of_long,
    "BOOLEAN": _of_boolean,
    "TIMESTAMP": _of_timestamp,
}
_STORED: Mapping[str, Callable[[object], bool]] = {
    **{
        kind: (lambda value, of=of: of(value) is not None)  # type: ignore[misc]
        for kind, of in _WHOLE_NUMBERS.items()
    },
    "FLOAT": _is_decimal,
    "DOUBLE": _is_decimal,
    "BIG_DECIMAL": _is_decimal,
    "STRING": _is_text,
    "BYTES": _is_bytes,
    "JSON": _is_json,
    "MAP": lambda value: type(value) is dict,
}
