"""The project's clock, which tests can replace."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """The clock used for all waits, retries and timestamps."""

    def now(self) -> float:
        """Return the wall-clock time in seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back; only differences are meaningful."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return the wall-clock time in seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""
        time.sleep(seconds)
