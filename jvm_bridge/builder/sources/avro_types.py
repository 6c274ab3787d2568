"""Decides, without a JVM, which Arrow types an Avro file's columns have, if Pinot's reader gives the same.

Pinot returns the stored values, except that since 1.4 it converts some logical types. An enum is its symbol.
In 0.11 bytes of a fixed length become a meaningless text; later readers may return the array into which they
read the next row.
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
# Pinot converts these depending on its version and on the values.
_DECIMALS = frozenset(["decimal", "big-decimal"])
_TIMESTAMPS = {"timestamp-millis": MILLI_NS, "timestamp-micros": UNIT_NS["MICROSECONDS"]}
_CONVERTED_TEXTS = frozenset(["uuid", "date", "time-millis", "time-micros"])
# Java's Timestamp overflows within a second of the minimum long.
_MIN_MILLIS = -(2**63) + 1_000


@dataclass(frozen=True)
class AvroType:
    """A field of the file; its values may be nullable.

    Attributes:
        kind: Avro's type of the values, e.g. ``LONG``; for arrays, the type of their items.
        logical: Avro's logical type.
        is_array: Whether the field has arrays.
    """

    kind: str
    logical: str | None = None
    is_array: bool = False


@dataclass(frozen=True)
class AvroColumn:
    """How a field becomes an Arrow column.

    Attributes:
        stored: The Arrow type of the stored values.
        planned: The Arrow type of the values for the table.
        millis_of: Unit in nanoseconds of numbers that Pinot converts to times in milliseconds.
        conversion: How numbers are converted for a time column.
    """

    stored: pa.DataType
    planned: pa.DataType
    millis_of: int | None = None
    conversion: TimeConversion | None = None

    def converted(self, column: Any) -> Any:
        """Convert an Arrow array of stored values to the values for the table.

        Raises:
            Unsuitable: Pinot would change a time.
            pyarrow.ArrowInvalid: A time does not fit, or a text is not UTF-8.
        """
        if pa.types.is_list(self.stored):
            values = self._converted_values(column.values)
            return pa.ListArray.from_arrays(column.offsets, values, mask=_mask(column))
        return self._converted_values(column)

    def _converted_values(self, values: Any) -> Any:
        if pa.types.is_string(values.type):
            values.validate(full=True)  # Java replaces invalid UTF-8 by U+FFFD
        if self.millis_of is not None:
            values = TimeConversion(self.millis_of, MILLI_NS).applied(values)
            first = pc.min(values).as_py()
            if first is not None and first < _MIN_MILLIS:
                raise Unsuitable(f"the time {first} (milliseconds since 1970) is too early for Java")
            if self.conversion is None:
                return values.view(pa.timestamp("ms"))
            values = TimeConversion(MILLI_NS, self.millis_of).applied(values)
        return values if self.conversion is None else self.conversion.applied(values)


def _mask(column: Any) -> Any:
    return column.is_null() if column.null_count else None


def planned_column(
    name: str, found: AvroType, conversion: TimeConversion | None, *, applies_logical: bool | None
) -> AvroColumn:
    """Decide how a field is converted.

    Args:
        name: Name of the field.
        found: Its type.
        conversion: How its numbers are converted for the table's time column, if it is one.
        applies_logical: Whether Pinot's reader converts logical types; None if this Pinot has no reader.

    Raises:
        Unsuitable: Arrow is not certain to give the same values as Pinot's reader.
    """
    described = f"{'array of ' if found.is_array else ''}{found.kind.lower()} {found.logical or ''}".rstrip()
    refusal = Unsuitable(f"column {name} is stored as {described}")
    stored = _ARROW_TYPES.get(found.kind)
    if stored is None or found.logical in _DECIMALS:
        raise refusal
    is_converted = found.logical in (*_TIMESTAMPS, *_CONVERTED_TEXTS)
    if is_converted and applies_logical is None:
        raise Unsuitable(f"{refusal}, and this Pinot has no Avro reader to compare with")
    millis_of = None
    if is_converted and applies_logical:
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
