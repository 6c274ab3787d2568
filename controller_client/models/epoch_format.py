"""Formats of time columns that count units since 1970 (org.apache.pinot.spi.data.DateTimeFormatSpec)."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.common.parsing import whole_number

__all__ = ["UNIT_NS", "EpochFormat"]

UNIT_NS = {
    "NANOSECONDS": 1,
    "MICROSECONDS": 1_000,
    "MILLISECONDS": 1_000_000,
    "SECONDS": 1_000_000_000,
    "MINUTES": 60 * 1_000_000_000,
    "HOURS": 3_600 * 1_000_000_000,
    "DAYS": 86_400 * 1_000_000_000,
}
"""Nanoseconds in a unit of java.util.concurrent.TimeUnit."""


@dataclass(frozen=True)
class EpochFormat:
    """``1:DAYS:EPOCH`` or ``EPOCH|DAYS|1``: the column counts steps of this many units since 1970.

    Attributes:
        size: Units in a step.
        unit: One of `UNIT_NS`.
    """

    size: int
    unit: str

    @property
    def step_ns(self) -> int:
        """Nanoseconds in a step."""
        return self.size * UNIT_NS[self.unit]

    @classmethod
    def parse(cls, text: str | None) -> EpochFormat | None:
        """Parse a format; None for another kind, such as SIMPLE_DATE_FORMAT."""
        if not text:
            return None
        if "|" in text:
            kind, _, rest = text.partition("|")
            unit, _, size = rest.partition("|")
        else:
            size, _, rest = text.partition(":")
            unit, _, kind = rest.partition(":")
        steps, unit = whole_number(size or "1"), unit.upper()
        if kind.upper() != "EPOCH" or unit not in UNIT_NS or not steps:
            return None
        return cls(steps, unit)
