"""Waiting for a state, with an error that tells what is there instead."""

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
    """What was waited for did not come."""


def wait_for(
    predicate: Callable[[], T],
    what: str,
    timeout_s: float = 300.0,
    *,
    interval_s: float = _POLL_INTERVAL_S,
    times: int = 1,
) -> T:
    """Call a predicate until it returns something true, and return that.

    Errors of the network and of this project's client mean "not yet".

    Args:
        predicate: What is asked.
        what: Names the state, e.g. ``all rows of flights``.
        timeout_s: Seconds to wait.
        interval_s: Seconds between two questions.
        times: How often in a row it has to be true. Queries go to the replicas in turns, and each replica
            reads the stream for itself: an answer says nothing of the next one.

    Raises:
        WaitError: It did not come; tells what was seen last, the end of each role's log, and each segment
            whose external view is not its ideal state.
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
    # At the end once more: who sees only the end of a long output sees what it was about.
    raise WaitError("\n\n".join([text, *(describe() for describe in _describers), text]))


def add_describer(describe: Callable[[], str]) -> None:
    """Have a text in every error of :func:`wait_for`."""
    _describers.append(describe)


def remove_describer(describe: Callable[[], str]) -> None:
    """Undo :func:`add_describer`."""
    _describers.remove(describe)


def watch_unchanged(value: Callable[[], T], expected: T, seconds: float = 3.0) -> None:
    """Look at a value for a while: it never is another one.

    Args:
        value: What is asked again and again.
        expected: What it has to be each time.
        seconds: How long: several times what a change needs to be seen.
    """
    deadline = time.monotonic() + seconds
    while True:
        assert value() == expected
        if time.monotonic() >= deadline:
            return
        time.sleep(_POLL_INTERVAL_S)
