"""Waiting for a state, with an error that shows the actual state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import requests

from controller_client.errors import PinotPluginError

T = TypeVar("T")

_POLL_INTERVAL_S = 0.1

_describers: list[Callable[[], str]] = []


class WaitError(AssertionError):
    """The expected state was not reached in time."""


def wait_for(
    predicate: Callable[[], T],
    what: str,
    timeout_s: float = 300.0,
    *,
    interval_s: float = _POLL_INTERVAL_S,
    times: int = 1,
) -> T:
    """Call a predicate until it returns a true value, and return that value.

    Network errors and errors of this project's client mean "not yet".

    Args:
        predicate: The condition.
        what: Name of the state, e.g. ``all rows of flights``.
        timeout_s: Seconds to wait.
        interval_s: Seconds between two calls.
        times: How often in a row it must be true. Queries go to the replicas in turn, and each replica reads
            the stream independently, so one answer does not predict the next one.

    Raises:
        WaitError: The state was not reached; shows the last state, the end of each role's log, and each
            segment whose external view differs from its ideal state.
    """
    deadline = time.monotonic() + timeout_s
    seen: object = None
    in_a_row = 0
    while True:
        try:
            value = predicate()
        except (OSError, requests.RequestException, PinotPluginError) as error:
            seen, in_a_row = error, 0
        else:
            in_a_row = in_a_row + 1 if value else 0
            if in_a_row == times:
                return value
            seen = value
            if value:
                continue
        if time.monotonic() >= deadline:
            break
        time.sleep(interval_s)
    text = f"waited {timeout_s:g} s for {what}; seen last: {seen!r}"
    # Repeated at the end, for readers who see only the end of a long output.
    raise WaitError("\n\n".join([text, *(describe() for describe in _describers), text]))


def add_describer(describe: Callable[[], str]) -> None:
    """Add a text to every error of :func:`wait_for`."""
    _describers.append(describe)


def remove_describer(describe: Callable[[], str]) -> None:
    """Undo :func:`add_describer`."""
    _describers.remove(describe)


def watch_unchanged(value: Callable[[], T], expected: T, seconds: float = 3.0) -> None:
    """Check that a value does not change for a while.

    Args:
        value: Function that returns the value; called repeatedly.
        expected: The value that it must have each time.
        seconds: How long: several times what a change needs to become visible.
    """
    deadline = time.monotonic() + seconds
    while True:
        assert value() == expected
        if time.monotonic() >= deadline:
            return
        time.sleep(_POLL_INTERVAL_S)
