"""The project's clock, which tests can replace."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]

_COUNTING: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class Clock(Protocol):
    """The clock used for all waits, retries and timestamps."""

    def now(self) -> float:
        """Return the wall-clock time in seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back; only differences are meaningful.

        It also counts the time during which the machine is suspended, where the system has such a clock.
        """
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
        # Linux' other clock, and with it the age of a lease, stands still while a machine is suspended.
        return time.monotonic() if _COUNTING is None else time.clock_gettime(_COUNTING)

    def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""
        time.sleep(seconds)
