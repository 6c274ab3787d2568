"""Decides, without a JVM, what an Avro file's columns are for Arrow, where Pinot's reader gives the same.

Pinot hands on what a file stores, save that since 1.4 it makes of some logical types what they stand for. An
enum is its symbol. Bytes of a fixed length are a text without meaning in 0.11; later readers may hand on the
array that they read the next row into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.time_conversion import MILLI_NS, TimeConversion

__all__ = ["AvroColumn", "AvroType", "planned_column"]

_ARROW_TYPES: Mapping[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "ENUM": pa.string(),
    "BYTES": pa.binary(),
}
# What Pinot makes of these depends on the version, and on the values.
_DECIMALS = frozenset(["decimal", "big-decimal"])
_TIMESTAMPS = {"timestamp-millis": MILLI_NS, "timestamp-micros": UNIT_NS["MICROSECONDS"]}
_MADE_TEXTS = frozenset(["uuid", "date", "time-millis", "time-micros"])
# Java's Timestamp overflows within a second of the least long.
_LEAST_MILLIS = -(2**63) + 1_000


@dataclass(frozen=True)
class AvroType:
    """A field of the file, whose values may be null or not.

    Attributes:
        kind: Avro's type of the values, e.g. ``LONG``; of those in the arrays.
        logical: Avro's name of what they stand for.
        is_array: Whether they are in arrays.
    """

    kind: str
    logical: str | None = None
    is_array: bool = False


@dataclass(frozen=True)
class AvroColumn:
    """How a field becomes an Arrow column.

    Attributes:
        stored: The Arrow type of what the file stores.
        planned: The Arrow type of what the table gets.
        millis_of: Nanoseconds of a step where Pinot makes a time in milliseconds of a number.
        conversion: How numbers become those of a time column.
    """

    stored: pa.DataType
    planned: pa.DataType
    millis_of: int | None = None
    conversion: TimeConversion | None = None

    def converted(self, column: Any) -> Any:
        """Make of an Arrow array of what the file stores what the table gets.

        Raises:
            Unsuitable: A time that Pinot changes.
            pyarrow.ArrowInvalid: A time does not fit, or a text is no UTF-8.
        """
        if pa.types.is_list(self.stored):
            values = self._converted_values(column.values)
            return pa.ListArray.from_arrays(column.offsets, values, mask=_mask(column))
        return self._converted_values(column)

    def _converted_values(self, values: Any) -> Any:
        if pa.types.is_string(values.type):
            values.validate(full=True)  # Java puts U+FFFD for what is no UTF-8
        if self.millis_of is not None:
            values = TimeConversion(self.millis_of, MILLI_NS).applied(values)
            least = pc.min(values).as_py()
            if least is not None and least < _LEAST_MILLIS:
                raise Unsuitable(f"a time is {least} milliseconds from 1970")
            if self.conversion is None:
                return values.view(pa.timestamp("ms"))
            values = TimeConversion(MILLI_NS, self.millis_of).applied(values)
        return values if self.conversion is None else self.conversion.applied(values)


def _mask(column: Any) -> Any:
    return column.is_null() if column.null_count else None


def planned_column(
    name: str, found: AvroType, conversion: TimeConversion | None, *, heeds_logical: bool | None
) -> AvroColumn:
    """Decide what a field becomes.

    Args:
        name: Of the field.
        found: What it is.
        conversion: How its numbers become those of the table's time column, if it is one.
        heeds_logical: Whether Pinot's reader gives what logical types stand for; None where this Pinot has
            no reader.

    Raises:
        Unsuitable: Arrow would not certainly give what Pinot's reader gives.
    """
    described = f"{'array of ' if found.is_array else ''}{found.kind.lower()} {found.logical or ''}".rstrip()
    refusal = Unsuitable(f"column {name} is stored as {described}")
    stored = _ARROW_TYPES.get(found.kind)
    if stored is None or found.logical in _DECIMALS:
        raise refusal
    is_made = found.logical in (*_TIMESTAMPS, *_MADE_TEXTS)
    if is_made and heeds_logical is None:
        raise Unsuitable(f"{refusal}, and this Pinot has no reader of Avro that shows what becomes of it")
    millis_of = None
    if is_made and heeds_logical:
        millis_of = _TIMESTAMPS.get(str(found.logical))
        is_day = found.logical == "date" and conversion is not None
        if found.is_array or (millis_of is None and not is_day):
            raise refusal
    planned = stored
    if conversion is not None:
        planned = pa.int64()
    elif millis_of is not None:
        planned = pa.timestamp("ms")
    if found.is_array:
        stored, planned = pa.list_(stored), pa.list_(planned)
    return AvroColumn(stored, planned, millis_of, conversion)
