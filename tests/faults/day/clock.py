"""The day's clock: it runs fast while nothing but time passes, and at real speed while work is done.

A process takes as long to start on a compressed day as on any other. If the whole day were equally fast, the
ten seconds of a restart would be twenty minutes, and alerts would fire that no operator would get. So while
something is started, stopped or waited for, time passes at real speed, which takes a few minutes of the day.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from controller_client.clock import Clock, SystemClock

__all__ = ["HOUR_S", "DayClock"]

HOUR_S = 3600.0

_CHECK_S = 1.0


@dataclass(frozen=True)
class _Stretch:
    """The speed of the day relative to real time from a moment on."""

    real_s: float
    day_s: float
    rate: float

    def day_of(self, real_s: float) -> float:
        return self.day_s + (real_s - self.real_s) * self.rate


class DayClock:
    """A clock that starts at 0:00 of the day when it is created.

    Args:
        rate: Default number of seconds of the day in a real second.
        clock: Real time.
    """

    def __init__(self, rate: float, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._stretches = [_Stretch(self._clock.now(), 0.0, rate)]

    @property
    def now_s(self) -> float:
        """Return the seconds of the day that have passed."""
        return self._stretches[-1].day_of(self._clock.now())

    @property
    def real_s(self) -> float:
        """Return the real seconds since the start of the day."""
        return self._clock.now() - self._stretches[0].real_s

    def day_of(self, real_s: float) -> float:
        """Return the second of the day for a real time; time before the day passed at real speed.

        Args:
            real_s: Seconds since the epoch.
        """
        number = bisect_right(self._stretches, real_s, key=lambda each: each.real_s)
        if not number:
            return real_s - self._stretches[0].real_s
        return self._stretches[number - 1].day_of(real_s)

    @contextmanager
    def at_rate(self, rate: float) -> Iterator[None]:
        """Within the block, a real second is this many seconds of the day."""
        before = self._stretches[-1].rate
        self._continue(rate)
        try:
            yield
        finally:
            self._continue(before)

    def wait_until(self, day_s: float, check: Callable[[], None] = lambda: None) -> None:
        """Wait until a second of the day.

        Args:
            day_s: The second of the day.
            check: Called repeatedly; an error that it raises ends the day.
        """
        while (left_s := (day_s - self.now_s) / self._stretches[-1].rate) > 0:
            check()
            self._clock.sleep(min(left_s, _CHECK_S))
        check()

    def _continue(self, rate: float) -> None:
        real_s = self._clock.now()
        self._stretches.append(_Stretch(real_s, self._stretches[-1].day_of(real_s), rate))
