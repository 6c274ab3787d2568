"""A clock that advances only when code sleeps on it."""

from __future__ import annotations

from collections.abc import Callable


class FakeClock:
    """Implements ``controller_client.clock.Clock`` without waiting.

    Args:
        now: The first wall-clock time, in seconds since the epoch.
        on_sleep: Called after each sleep with the new time; a test makes its changes there.
    """

    def __init__(self, now: float = 1_700_000_000.0, on_sleep: Callable[[float], None] | None = None) -> None:
        self._start = now
        self._passed_s = 0.0
        self.sleeps: list[float] = []
        self.on_sleep = on_sleep

    def now(self) -> float:
        return self._start + self._passed_s

    def monotonic(self) -> float:
        return self._passed_s

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0, f"a sleep of {seconds} s"
        self.sleeps.append(seconds)
        self.advance(seconds)
        if self.on_sleep is not None:
            self.on_sleep(self.now())

    def advance(self, seconds: float) -> None:
        """Let time pass without a sleep."""
        self._passed_s += seconds
