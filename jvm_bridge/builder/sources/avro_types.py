"""Decides, without a JVM, which Arrow types an Avro file's columns have.

Columns have the stored values, except that times may be converted. An enum is its symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.planning import DECIMAL, MIXED, NESTED
from jvm_bridge.builder.sources.lists import with_values
from jvm_bridge.time_conversion import MILLI_NS, TimeConversion

__all__ = ["AvroColumn", "AvroType", "planned_column"]

_ARROW_TYPES: Mapping[str, pa.DataType] = {
    "NULL": pa.null(),
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "ENUM": pa.string(),
    "BYTES": pa.binary(),
    "DECIMAL": DECIMAL,
    "MIXED": MIXED,
    "NESTED": NESTED,
}
_TIMES: Mapping[str, pa.DataType] = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms"),
    "timestamp-micros": pa.timestamp("us"),
    "timestamp-nanos": pa.timestamp("ns"),
}
_TIMESTAMPS = {"timestamp-millis": MILLI_NS, "timestamp-micros": UNIT_NS["MICROSECONDS"]}
_MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS_OF_TIMES = {"time-millis": 1_000, "time-micros": 1}


@dataclass(frozen=True)
class AvroType:
    """A field of the file; its values may be nullable.

    Attributes:
        kind: Avro's type of the values, e.g. ``LONG``; for arrays, the type of their items. Or ``DECIMAL``;
            ``NESTED`` for records, maps and other arrays; ``MIXED`` for unions of several types.
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
        convert: Converts stored values; None if they stay as they are.
    """

    stored: pa.DataType
    planned: pa.DataType
    convert: Callable[[Any], Any] | None = None

    def converted(self, column: Any) -> Any:
        """Convert an Arrow array of stored values to the values for the table.

        Raises:
            pyarrow.ArrowInvalid: A time does not fit.
        """
        if self.convert is None:
            return column
        return with_values(column, self.convert) if pa.types.is_list(column.type) else self.convert(column)


def planned_column(
    avro_type: AvroType,
    conversion: TimeConversion | None,
    *,
    applies_logical: bool,
    keeps_times: bool = False,
) -> AvroColumn:
    """Decide how a field is converted.

    Args:
        avro_type: Its type.
        conversion: How its numbers are converted for the table's time column, if it is one.
        applies_logical: Whether times in other columns are milliseconds or texts, and not the stored numbers.
        keeps_times: Whether they are times.
    """
    stored = _ARROW_TYPES[avro_type.kind]
    planned: pa.DataType = stored
    convert: Callable[[Any], Any] | None = None
    if conversion is not None:
        planned, convert = pa.int64(), conversion.applied
    elif keeps_times and (time_type := _TIMES.get(avro_type.logical or "")) is not None:
        planned = time_type
        convert = partial(_viewed, kind=planned)
    elif applies_logical:
        planned, convert = _of_time(avro_type.logical) or (stored, None)
    if avro_type.is_array:
        stored, planned = pa.list_(stored), pa.large_list(planned)
    return AvroColumn(stored, planned, convert)


def _viewed(numbers: Any, kind: pa.DataType) -> Any:
    return numbers.view(kind)


def _of_time(logical: str | None) -> tuple[pa.DataType, Callable[[Any], Any]] | None:
    if logical in _TIMESTAMPS:
        millis = TimeConversion(_TIMESTAMPS[logical], MILLI_NS)
        return pa.timestamp("ms"), lambda values: millis.applied(values).view(pa.timestamp("ms"))
    if logical == "date":
        return pa.string(), lambda values: values.view(pa.date32()).cast(pa.string())
    if logical in _MICROS_OF_TIMES:
        micros = _MICROS_OF_TIMES[logical]
        return pa.string(), lambda values: pa.array([_time_text(each, micros) for each in values.to_pylist()])
    return None


def _time_text(number: int | None, micros: int) -> str | None:
    """Return a time of day as Java writes it: without seconds if they are zero."""
    if number is None:
        return None
    time = (_MIDNIGHT + timedelta(microseconds=number * micros)).time()
    if not time.second and not time.microsecond:
        return time.isoformat("minutes")
    return time.isoformat("milliseconds" if time.microsecond and not time.microsecond % 1_000 else "auto")
