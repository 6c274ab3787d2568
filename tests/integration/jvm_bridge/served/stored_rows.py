"""A random table's rows as servers store them, computed from the rows alone, with null handling off."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from tests.contract.random_tables import RandomTable

__all__ = ["StoredColumn", "as_text", "shown", "stored_columns"]

_LOWEST = {"INT": -(2**31), "LONG": -(2**63), "FLOAT": -math.inf, "DOUBLE": -math.inf}
_DEFAULTS: Mapping[str, Any] = {
    **_LOWEST,
    "BOOLEAN": False,
    "TIMESTAMP": 0,
    "STRING": "null",
    "JSON": "null",
    "BYTES": b"",
    "BIG_DECIMAL": "0",
}
_PARSED = {"INT": int, "LONG": int, "FLOAT": float, "DOUBLE": float, "STRING": str}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StoredColumn:
    """A column as servers store it.

    Attributes:
        name: Name.
        data_type: Pinot's type.
        is_single: Whether a row has one value; else its values are a list.
        is_metric: Whether it is a metric.
        values: By row; the default for a null.
        nulls: By row, whether it was null.
    """

    name: str
    data_type: str
    is_single: bool
    is_metric: bool
    values: Sequence[Any]
    nulls: Sequence[bool]

    def rows_where(self, holds: Any) -> list[int]:
        """Return the rows whose value, or any of whose values, has a property."""
        return [row for row, value in enumerate(self.values) if any(map(holds, self.all_of(value)))]

    def all_of(self, value: Any) -> Sequence[Any]:
        """Return the values of a row."""
        return [value] if self.is_single else value

    def flat(self) -> Iterator[Any]:
        """Return the values of all rows."""
        for value in self.values:
            yield from self.all_of(value)


def stored_columns(table: RandomTable, *, replaces_special_values: bool) -> list[StoredColumn]:
    """Return the columns.

    Args:
        table: The table.
        replaces_special_values: Whether this Pinot replaces NaN by null.
    """
    found = []
    for kind in ("dimensionFieldSpecs", "metricFieldSpecs"):
        is_metric = kind == "metricFieldSpecs"
        for spec in table.schema[kind]:
            given = table.rows[spec["name"]].to_pylist()
            found.append(_stored(spec, given, is_metric=is_metric, replaces=replaces_special_values))
    return found


def _stored(
    spec: Mapping[str, Any], given: Sequence[Any], *, is_metric: bool, replaces: bool
) -> StoredColumn:
    data_type, is_single = spec["dataType"], spec.get("singleValueField", True)
    default = 0 if is_metric else _DEFAULTS[data_type]
    if "defaultNullValue" in spec:
        default = _PARSED[data_type](spec["defaultNullValue"])
    values, nulls = [], []
    for row in given:
        each = [row] if is_single else row or []
        kept = [value for value in each if value is not None and not (replaces and value != value)]
        nulls.append(not kept)
        kept = [_value(spec, value) for value in kept or [default]]
        values.append(kept[0] if is_single else kept)
    return StoredColumn(spec["name"], data_type, is_single, is_metric, values, nulls)


def _value(spec: Mapping[str, Any], value: Any) -> Any:
    match spec["dataType"]:
        case "STRING":
            return value[: spec.get("maxLength", 512)]
        case "FLOAT" | "DOUBLE":
            return float(value) + 0.0  # no negative zero
        case "JSON":
            return json.loads(value)
        case "BIG_DECIMAL":
            return Decimal(value)
    return value


def as_text(data_type: str, value: Any) -> str:
    """Return a text that is equal for two values if and only if they are equal to a reader."""
    match data_type:
        case "JSON":
            return json.dumps(value, sort_keys=True)
        case "BIG_DECIMAL":  # the checksums in the contract tests cover trailing zeros
            text = f"{value:f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        case "BYTES":
            return str(value.hex())
    return repr(value)


def shown(column: StoredColumn, answer: Any, zone: tzinfo | None) -> str:
    """Return the text, as :func:`as_text`, of a query's result for a row of a column.

    Args:
        column: The column.
        answer: A value, or a list of them.
        zone: The time zone of the servers; None: this process'.
    """
    values = [answer] if column.is_single else answer
    return ",".join(as_text(column.data_type, _read(column.data_type, value, zone)) for value in values)


def _read(data_type: str, value: Any, zone: tzinfo | None) -> Any:
    match data_type:
        case "JSON":
            return json.loads(value)
        case "BYTES":
            return bytes.fromhex(value)
        case "FLOAT":  # shown with just enough digits to distinguish it from other floats
            return struct.unpack("<f", struct.pack("<f", value))[0]
        case "TIMESTAMP":
            local = datetime.fromisoformat(value.ljust(len("2000-01-01 00:00:00.000"), "0"))
            return (local.replace(tzinfo=zone).astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
    return value
