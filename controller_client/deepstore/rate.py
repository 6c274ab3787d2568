"""A limit on requests, so that audits do not overload the cluster."""

from __future__ import annotations

import threading

from controller_client.clock import Clock, SystemClock
from controller_client.errors import ConfigError

__all__ = ["RateLimit"]


class RateLimit:
    """Limits the rate of requests; threads may share it.

    Args:
        per_s: Maximum requests per second.
        clock: Time and sleep.
    """

    def __init__(self, per_s: float, clock: Clock | None = None) -> None:
        if per_s <= 0:
            raise ConfigError(
                f"the request rate is {per_s:g} per second, so no request could be sent",
                expected="more than 0",
            )
        self._interval_s = 1.0 / per_s
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._next_s = self._clock.monotonic()

    def wait(self) -> None:
        """Wait until the caller may send its request."""
        with self._lock:
            now_s = self._clock.monotonic()
            own_s = max(now_s, self._next_s)
            self._next_s = own_s + self._interval_s
        if own_s > now_s:
            self._clock.sleep(own_s - now_s)
