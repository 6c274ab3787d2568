"""Short texts for Spark's errors."""

from __future__ import annotations

__all__ = ["in_short"]

_LONGEST = 1000


def in_short(error: Exception) -> str:
    """Return the line of an error's text that describes the failure, without stack traces."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    lines_left = [line for line in lines if not line.startswith("An error occurred while calling")]
    return (lines_left or [type(error).__name__])[0][:_LONGEST]
