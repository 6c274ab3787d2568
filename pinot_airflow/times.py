"""Times as DAGs give them."""

from __future__ import annotations

from datetime import datetime

from controller_client.errors import ConfigError

__all__ = ["epoch_ms"]


def epoch_ms(time: datetime | str, name: str) -> int:
    """Return a time in milliseconds since 1970.

    Args:
        time: With its zone.
        name: Of the argument, for the error.

    Raises:
        ConfigError: It is no time, or has no zone.
    """
    try:
        at = datetime.fromisoformat(time) if isinstance(time, str) else time
    except ValueError as error:
        raise ConfigError(
            f"{name} is {time!r}", expected="a time in ISO 8601, like 2026-11-25T00:00:00+00:00"
        ) from error
    if at.tzinfo is None:
        raise ConfigError(f"{name} is {time!r}, without a zone", expected="e.g. +00:00 at its end")
    return round(at.timestamp() * 1000)
