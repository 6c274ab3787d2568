"""The day's clock: it runs fast while time is all that passes, at its real speed where work takes its time.

A process needs as long to start on a day that is compressed as on any other. Were all of a day equally fast,
the ten seconds of a restart would be twenty minutes of it, and alerts would fire that no operator gets. So a
stretch in which something is started, stopped or waited for passes at its real speed, and what passes there
is a few minutes of the day.
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
    """From a moment on, the day passes so many times as fast as the real time."""

    real_s: float
    day_s: float
    rate: float

    def day_of(self, real_s: float) -> float:
        return self.day_s + (real_s - self.real_s) * self.rate


class DayClock:
    """Starts at 0:00 of the day, when it is made.

    Args:
        rate: Seconds of the day in a real second, where nothing else is said.
        clock: Real time.
    """

    def __init__(self, rate: float, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._stretches = [_Stretch(self._clock.now(), 0.0, rate)]

    @property
    def now_s(self) -> float:
        """Seconds of the day that have passed."""
        return self._stretches[-1].day_of(self._clock.now())

    @property
    def real_s(self) -> float:
        """Real seconds that have passed since the day began."""
        return self._clock.now() - self._stretches[0].real_s

    def day_of(self, real_s: float) -> float:
        """Return the second of the day of a real time; what was before the day passed at its real speed.

        Args:
            real_s: Seconds since the epoch.
        """
        number = bisect_right(self._stretches, real_s, key=lambda each: each.real_s)
        if not number:
            return real_s - self._stretches[0].real_s
        return self._stretches[number - 1].day_of(real_s)

    @contextmanager
    def at_rate(self, rate: float) -> Iterator[None]:
        """Within the block a real second is so many of the day."""
        before = self._stretches[-1].rate
        self._go_on(rate)
        try:
            yield
        finally:
            self._go_on(before)

    def wait_until(self, day_s: float, check: Callable[[], None] = lambda: None) -> None:
        """Let the day pass until then.

        Args:
            day_s: The second of the day.
            check: Called again and again; what it raises ends the day.
        """
        while (left_s := (day_s - self.now_s) / self._stretches[-1].rate) > 0:
            check()
            self._clock.sleep(min(left_s, _CHECK_S))
        check()

    def _go_on(self, rate: float) -> None:
        real_s = self._clock.now()
        self._stretches.append(_Stretch(real_s, self._stretches[-1].day_of(real_s), rate))
