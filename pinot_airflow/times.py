"""Parses the times in DAGs."""

from __future__ import annotations

from datetime import datetime

from controller_client.errors import ConfigError

__all__ = ["epoch_ms"]


def epoch_ms(time: datetime | str, name: str) -> int:
    """Return a time in epoch milliseconds.

    Args:
        time: A time with time zone.
        name: Name of the argument, for error messages.

    Raises:
        ConfigError: The text is not a time, or the time has no time zone.
    """
    try:
        at = datetime.fromisoformat(time) if isinstance(time, str) else time
    except ValueError as error:
        raise ConfigError(
            f"{name} is {time!r}", expected="a time in ISO 8601 such as 2026-11-25T00:00:00+00:00"
        ) from error
    if at.tzinfo is None:
        raise ConfigError(f"{name} is {time!r}, without a time zone", expected="e.g. +00:00 at the end")
    return round(at.timestamp() * 1000)
