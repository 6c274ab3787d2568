"""Formats durations, messages and times for people."""

from __future__ import annotations

from controller_client.common.utc_text import utc_text

__all__ = ["clock_text", "first_line", "seconds_text"]


def seconds_text(seconds: float) -> str:
    """Format a duration: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 90:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def first_line(message: str | None) -> str | None:
    """Return a session's message without the errors of its files, which are shown separately."""
    return message.partition("\n")[0].rstrip(":") if message else None


def clock_text(time_ms: int) -> str:
    """Format a time of the ledger: UTC, to the second."""
    return utc_text(time_ms)
