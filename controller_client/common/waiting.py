"""Waits for a state of the cluster, with an error that reports the last state seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller_client.clock import Clock
from controller_client.errors import WaitTimeoutError

__all__ = ["growing_pauses", "wait_until"]

_GROWTH = 1.25
_LEAST_PAUSE_S = 0.001
"""A clock may not advance during a shorter pause."""


def growing_pauses(first_s: float, longest_s: float) -> Iterator[float]:
    """Yield pauses between checks, each a quarter longer than the last, which bounds the wasted time.

    Args:
        first_s: The first pause, seconds.
        longest_s: The longest, seconds.
    """
    pause_s = first_s
    while True:
        yield pause_s
        pause_s = min(pause_s * _GROWTH, longest_s)


def wait_until(
    missing: Callable[[], str | None],
    *,
    what: str,
    timeout_s: float,
    clock: Clock,
    first_poll_s: float = 0.1,
    longest_poll_s: float = 2.0,
    remedy: str | None = None,
) -> None:
    """Check repeatedly until nothing is missing.

    Args:
        missing: Checks once; returns None if the state is reached, else what is still missing, as text. Runs
            in the caller's thread, at least once.
        what: The state, for the error: "segments ONLINE in flights_OFFLINE".
        timeout_s: Seconds until the last check.
        clock: Time and sleep.
        first_poll_s: Pause after the first check; for the next ones see :func:`growing_pauses`.
        longest_poll_s: Longest pause between two checks.
        remedy: What the reader of the error should do.

    Raises:
        WaitTimeoutError: Something is still missing at the last check; the error reports it.
    """
    started = clock.monotonic()
    pauses_s = growing_pauses(first_poll_s, longest_poll_s)
    while (seen := missing()) is not None:
        left_s = timeout_s - (clock.monotonic() - started)
        if left_s <= 0:
            raise WaitTimeoutError(
                f"waited {timeout_s:g} s for {what}; last seen: {seen}", expected=what, remedy=remedy
            )
        clock.sleep(max(min(next(pauses_s), left_s), _LEAST_PAUSE_S))
