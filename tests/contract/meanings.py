"""What a column of a table holds for a value of a file: the table in docs/segments.md, written once more.

Values are Python's own: ``int``, ``float`` for a double, ``numpy.float32``, ``Decimal``, ``bool``, ``str``,
``bytes``, ``list``, ``dict`` with texts as keys, and None.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["Column", "fits", "is_stored_as"]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEX = re.compile(r"([0-9a-fA-F]{2})*")
_INT, _LONG = range(-(2**31), 2**31), range(-(2**63), 2**63)
_FORMAT = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        data_type: Pinot's name of the type.
        many: Whether a row has several values.
    """

    data_type: str
    many: bool = False


def fits(value: Any, column: Column) -> bool:
    """Whether a column can hold a value; otherwise the file is refused."""
    if column.many:
        values = value if isinstance(value, list) else [value]
        return all(each is None or _fits(each, column.data_type) for each in values)
    if value is None or _is_text_of_all(value, column.data_type):
        return True
    if isinstance(value, list):
        return not value or (len(value) == 1 and fits(value[0], column))
    return _fits(value, column.data_type)


def is_stored_as(value: Any, column: Column, read: Any) -> bool:
    """Whether a value that fits was read back from a segment as what it means.

    Args:
        value: The file's.
        column: The column.
        read: The segment's, as the child process returns it: ``{"double": "1.5"}``.
    """
    if column.many:
        values = [each for each in (value if isinstance(value, list) else [value]) if each is not None]
        if not values:
            return read is None
        return (
            isinstance(read, list)
            and len(read) == len(values)
            and all(_is_stored_as(*pair, column.data_type) for pair in zip(values, read, strict=True))
        )
    if isinstance(value, list) and not _is_text_of_all(value, column.data_type):
        return is_stored_as(value[0] if value else None, column, read)
    if value is None:
        return read is None
    return _is_stored_as(value, read, column.data_type)


def _is_text_of_all(value: Any, data_type: str) -> bool:
    """Whether the JSON of a list or an object is stored."""
    return data_type == "JSON" or (data_type == "STRING" and isinstance(value, list | dict))


def _fits(value: Any, data_type: str) -> bool:
    if data_type in ("STRING", "JSON"):
        return True
    if data_type == "BYTES":
        return isinstance(value, bytes) or (isinstance(value, str) and _HEX.fullmatch(value) is not None)
    if data_type == "BOOLEAN":
        return _truth(value) is not None
    if data_type == "TIMESTAMP":
        return _millis(value) is not None
    number = _number(value)
    if data_type in ("INT", "LONG"):
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) is None:
            return False
        return _is_whole(number, _INT if data_type == "INT" else _LONG)
    if number is None:
        return isinstance(value, float | np.floating) and data_type != "BIG_DECIMAL"  # infinite
    return data_type == "BIG_DECIMAL" or math.isfinite(_nearest(number, data_type))


def _is_stored_as(value: Any, read: Any, data_type: str) -> bool:
    if data_type in ("INT", "LONG"):
        return type(read) is int and read == _number(value)
    if data_type == "BOOLEAN":
        return type(read) is int and read == _truth(value)
    if data_type == "TIMESTAMP":
        return type(read) is int and read == _millis(value)
    if data_type in ("FLOAT", "DOUBLE"):
        number = _number(value)
        expected = float(value) if number is None else _nearest(number, data_type)
        return isinstance(read, Mapping) and float(read.get(data_type.lower(), "nan")) == expected
    if data_type == "BIG_DECIMAL":
        decimal = Decimal(value.strip()) if isinstance(value, str) else value
        return isinstance(read, Mapping) and _is_text_of(read.get("decimal", ""), decimal)
    if data_type == "BYTES":
        return bool(read == {"bytes": value.hex() if isinstance(value, bytes) else value.lower()})
    if data_type == "JSON":
        return isinstance(read, str) and _is_json_of(_parsed(read), _as_json(value))
    if isinstance(value, list | dict):
        return isinstance(read, str) and _is_json_of(_parsed(read), value)
    return isinstance(read, str) and _is_text_of(read, value)


def _number(value: Any) -> Fraction | None:
    """Return a finite number, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        return Fraction(Decimal(text)) if _NUMBER.fullmatch(text) else None
    if isinstance(value, int | Decimal):
        return Fraction(value)
    if isinstance(value, float | np.floating):
        return Fraction(float(value)) if math.isfinite(value) else None
    return None


def _is_whole(number: Fraction | None, numbers: range) -> bool:
    return number is not None and number.denominator == 1 and int(number) in numbers


def _nearest(number: Fraction, data_type: str) -> float:
    """Return the nearest number of the type, infinite if it is beyond all."""
    try:
        double = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    if data_type == "DOUBLE":
        return double
    with np.errstate(over="ignore"):
        single = np.float32(double)
        # Rounded twice, it may be next to the nearest.
        around = (np.nextafter(single, np.float32(-np.inf)), single, np.nextafter(single, np.float32(np.inf)))
    finite = [each for each in around if np.isfinite(each)]
    if not np.isfinite(single):
        return float(single)
    return float(min(finite, key=lambda each: (abs(Fraction(float(each)) - number), each != single)))


def _truth(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return {"true": 1, "1": 1, "false": 0, "0": 0}.get(value.strip().lower())
    number = _number(value)
    return int(number) if number in (0, 1) and number is not None else None


def _millis(value: Any) -> int | None:
    if isinstance(value, str) and not _WHOLE.fullmatch(value.strip()):
        try:
            return int(datetime.strptime(value.strip(), _FORMAT).replace(tzinfo=UTC).timestamp()) * 1000
        except ValueError:
            return None
    number = _number(value)
    return int(number) if number is not None and _is_whole(number, _LONG) else None


def _is_text_of(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text == value
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, bytes):
        return text == value.hex()
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return text == {math.inf: "Infinity", -math.inf: "-Infinity"}[float(value)]
    if _NUMBER.fullmatch(text) is None:
        return False
    # Digits that give the same number again when they are read.
    if isinstance(value, np.floating):
        return _nearest(Fraction(Decimal(text)), "FLOAT") == float(value)
    if isinstance(value, float):
        return float(text) == value
    return Fraction(Decimal(text)) == Fraction(value)


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def _as_json(value: Any) -> Any:
    """Return what the JSON of a value is: that of a text is the JSON that it contains, if it is one."""
    if not isinstance(value, str):
        return value
    try:
        return _parsed(value)
    except ValueError:
        return value


def _is_json_of(json_value: Any, value: Any) -> bool:
    if isinstance(value, Mapping):
        return (
            isinstance(json_value, Mapping)
            and json_value.keys() == value.keys()
            and all(_is_json_of(json_value[key], each) for key, each in value.items())
        )
    if isinstance(value, list):
        return (
            isinstance(json_value, list)
            and len(json_value) == len(value)
            and all(_is_json_of(*pair) for pair in zip(json_value, value, strict=True))
        )
    if value is None or isinstance(value, bool | str):
        return type(json_value) is type(value) and bool(json_value == value)
    if isinstance(value, bytes):
        return bool(json_value == value.hex())
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return bool(json_value == {math.inf: "Infinity", -math.inf: "-Infinity"}[float(value)])
    return not isinstance(json_value, bool | str) and _is_text_of(str(json_value), value)
