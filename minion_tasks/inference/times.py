"""Which format points in time have: as texts, or as numbers since 1970."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from controller_client.models.epoch_format import UNIT_NS

__all__ = ["TimeFormat", "format_of_numbers", "format_of_texts"]

_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_PATTERNS: Sequence[tuple[str, str, str]] = (
    ("yyyy-MM-dd", "%Y-%m-%d", "DAYS"),
    ("yyyy/MM/dd", "%Y/%m/%d", "DAYS"),
    ("yyyyMMdd", "%Y%m%d", "DAYS"),
    ("dd.MM.yyyy", "%d.%m.%Y", "DAYS"),
    ("dd/MM/yyyy", "%d/%m/%Y", "DAYS"),
    ("MM/dd/yyyy", "%m/%d/%Y", "DAYS"),
    ("dd-MMM-yyyy", "%d-%b-%Y", "DAYS"),
    ("dd.MM.yyyy HH:mm", "%d.%m.%Y %H:%M", "MINUTES"),
    ("dd.MM.yyyy HH:mm:ss", "%d.%m.%Y %H:%M:%S", "SECONDS"),
    ("dd/MM/yyyy HH:mm", "%d/%m/%Y %H:%M", "MINUTES"),
    ("dd/MM/yyyy HH:mm:ss", "%d/%m/%Y %H:%M:%S", "SECONDS"),
    ("MM/dd/yyyy HH:mm", "%m/%d/%Y %H:%M", "MINUTES"),
    ("MM/dd/yyyy HH:mm:ss", "%m/%d/%Y %H:%M:%S", "SECONDS"),
    ("yyyyMMddHHmmss", "%Y%m%d%H%M%S", "SECONDS"),
)
"""Java's pattern, Python's, and the granularity."""
_EARLIEST_YEAR, _LATEST_YEAR = 1971, 2070
_EPOCH_UNITS = ("SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS")
_EARLIEST_EPOCH_S, _LATEST_EPOCH_S = 946_684_800, 2_208_988_800  # the years 2000 and 2040


@dataclass(frozen=True)
class TimeFormat:
    """A format of points in time.

    Attributes:
        data_type: Type of the column.
        text: The format, as in a schema's ``format``.
        granularity: As in a schema's ``granularity``.
        rivals: Other formats that fit all values as well.
        is_usual: Whether all are in the years that Pinot takes for the times of a segment.
    """

    data_type: str
    text: str
    granularity: str
    rivals: tuple[str, ...] = ()
    is_usual: bool = True

    @classmethod
    def of_timestamps(cls, values: Iterable[date]) -> TimeFormat:
        """Return the format of a TIMESTAMP column with these values."""
        is_usual = all(_EARLIEST_YEAR <= value.year <= _LATEST_YEAR for value in values)
        return cls("TIMESTAMP", "1:MILLISECONDS:EPOCH", "1:MILLISECONDS", is_usual=is_usual)


def format_of_texts(values: Sequence[str]) -> TimeFormat | None:
    """Return the format that all of some texts have; None if they have no common one."""
    if all(_TIMESTAMP.fullmatch(value) for value in values):
        try:
            return TimeFormat.of_timestamps(datetime.fromisoformat(value) for value in values)
        except ValueError:  # such as February 30
            return None
    matches = [
        (java, unit)
        for java, python, unit in _PATTERNS
        if _has_length(values, java) and all(_parses(value, python) for value in values)
    ]
    if not matches:
        return None
    (java, unit), *rivals = matches
    text = f"1:{unit}:SIMPLE_DATE_FORMAT:{java}"
    return TimeFormat("STRING", text, f"1:{unit}", tuple(other for other, _ in rivals))


def format_of_numbers(smallest: int, greatest: int) -> TimeFormat | None:
    """Return the unit since 1970 in which numbers are of the years 2000 to 2040; None if there is none."""
    for unit in _EPOCH_UNITS:
        per_second = UNIT_NS["SECONDS"] // UNIT_NS[unit]
        if _EARLIEST_EPOCH_S * per_second <= smallest <= greatest < _LATEST_EPOCH_S * per_second:
            data_type = "TIMESTAMP" if unit == "MILLISECONDS" else "LONG"
            return TimeFormat(data_type, f"1:{unit}:EPOCH", f"1:{unit}")
    return None


def _has_length(values: Sequence[str], java: str) -> bool:
    # Python's patterns take "1" for "01", which Java's pattern in a schema does not read back as it was.
    return all(len(value) == len(java) for value in values)


def _parses(value: str, python: str) -> bool:
    try:
        return _EARLIEST_YEAR <= datetime.strptime(value, python).year <= _LATEST_YEAR  # noqa: DTZ007 - a check
    except ValueError:
        return False
