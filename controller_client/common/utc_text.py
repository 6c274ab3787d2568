"""Times of records as text."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["utc_text"]


def utc_text(epoch_ms: float, separator: str = " ") -> str:
    """Format a time in UTC, to the second; ``-`` if it is none that a calendar has.

    Args:
        epoch_ms: Milliseconds since 1970, e.g. of a record that anyone may have written.
        separator: What stands between date and time.
    """
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime(f"%Y-%m-%d{separator}%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # NaN, infinity, after the year 9999
        return "-"
