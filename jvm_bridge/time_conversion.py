"""Converts points in time from a source to the unit of the table's column.

Pinot's own readers return the number that a Parquet or Avro file stores, regardless of the unit that the file
declares. Both of our readers convert it for columns that are declared as times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from controller_client.models import EpochFormat
from controller_client.models.epoch_format import UNIT_NS

__all__ = ["MILLI_NS", "TimeConversion", "steps_of", "time_steps"]

MILLI_NS = UNIT_NS["MILLISECONDS"]
_ARROW_NS = {
    "s": UNIT_NS["SECONDS"],
    "ms": UNIT_NS["MILLISECONDS"],
    "us": UNIT_NS["MICROSECONDS"],
    "ns": UNIT_NS["NANOSECONDS"],
}


@dataclass(frozen=True)
class TimeConversion:
    """Converts numbers from one unit since 1970 to another, rounded towards the past.

    Attributes:
        from_ns: Nanoseconds in a step of the source.
        to_ns: Nanoseconds in a step of the table.
    """

    from_ns: int
    to_ns: int

    @property
    def multiplier(self) -> int:
        """The factor for a number; it has no common divisor with `divisor`."""
        return self.from_ns // math.gcd(self.from_ns, self.to_ns)

    @property
    def divisor(self) -> int:
        """The divisor for the product."""
        return self.to_ns // math.gcd(self.from_ns, self.to_ns)

    def applied(self, numbers: Any) -> Any:
        """Convert an Arrow array of whole numbers to int64; nulls stay.

        Raises:
            pyarrow.ArrowInvalid: A result does not fit.
        """
        numbers = numbers.cast(pa.int64())
        if self.multiplier != 1:
            numbers = pc.multiply_checked(numbers, pa.scalar(self.multiplier, pa.int64()))
        if self.divisor == 1:
            return numbers
        # Arrow's own division truncates towards zero, which is wrong before 1970.
        nulls = numbers.is_null().to_numpy(zero_copy_only=False) if numbers.null_count else None
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        return pa.array(np.floor_divide(values, self.divisor), mask=nulls)


def steps_of(times: Any, step_ns: int) -> Any:
    """Return an Arrow array of timestamps or dates as int64: steps of this many nanoseconds since 1970.

    Raises:
        pyarrow.ArrowInvalid: A result does not fit.
    """
    if pa.types.is_date32(times.type):
        return TimeConversion(UNIT_NS["DAYS"], step_ns).applied(times.view(pa.int32()))
    unit = "ms" if pa.types.is_date64(times.type) else times.type.unit
    return TimeConversion(_ARROW_NS[unit], step_ns).applied(times.view(pa.int64()))


def time_steps(schema: Mapping[str, Any]) -> dict[str, int]:
    """Return the time columns that count steps since 1970, each with the nanoseconds of a step.

    These are all columns of type TIMESTAMP (milliseconds), and time columns of type INT or LONG whose format
    is EPOCH or, of type LONG, TIMESTAMP.

    Args:
        schema: The schema as returned by Pinot's REST API.
    """
    steps: dict[str, int] = {}
    for kind in ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs"):
        for spec in schema.get(kind) or ():
            step_ns = _step_ns(spec)
            if step_ns is not None:
                steps[str(spec.get("name"))] = step_ns
    incoming = (schema.get("timeFieldSpec") or {}).get("incomingGranularitySpec") or {}
    if str(incoming.get("timeFormat", "EPOCH")) == "EPOCH":
        old = EpochFormat.parse(f"{incoming.get('timeUnitSize', 1)}:{incoming.get('timeType')}:EPOCH")
        if old is not None and incoming.get("dataType") in ("INT", "LONG"):
            steps[str(incoming.get("name"))] = old.step_ns
    return steps


def _step_ns(spec: Mapping[str, Any]) -> int | None:
    data_type, text = spec.get("dataType"), str(spec.get("format") or "")
    if data_type == "TIMESTAMP":
        return MILLI_NS
    if data_type not in ("INT", "LONG"):
        return None
    epoch = EpochFormat.parse(text)
    if epoch is not None:
        return epoch.step_ns
    return MILLI_NS if data_type == "LONG" and "TIMESTAMP" in (text, text.rpartition(":")[2]) else None
