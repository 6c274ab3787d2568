"""Failures of a coordinator: the number of retries, the pauses, and what ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from controller_client.errors import (
    AuthError,
    ConflictError,
    OutcomeUnknownError,
    PinotPluginError,
    SourceError,
    UnreachableError,
)
from key_coordinator.retries import Retries


class _Stop(threading.Event):
    """Does not wait, but records the requested pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses_s: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses_s.append(timeout or 0.0)
        return self.is_set()


def failing(times: int, error: PinotPluginError) -> Callable[[], bool]:
    """Return an attempt that fails a number of times and then succeeds."""
    left = [times]

    def attempt() -> bool:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return True

    return attempt


@pytest.mark.parametrize("kind", [SourceError, UnreachableError, AuthError, OutcomeUnknownError])
def test_it_retries_with_increasing_pauses(kind: type[PinotPluginError]) -> None:
    stop, notes = _Stop(), list[str]()
    Retries(notes.append).run(failing(9, kind("no answer")), stop)
    assert stop.pauses_s == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert notes[0] == "no answer; trying again in 0.5 s"


def test_the_tenth_failure_without_a_version_ends_it() -> None:
    stop = _Stop()
    with pytest.raises(SourceError):
        Retries(lambda _: None).run(failing(10, SourceError("no answer")), stop)
    assert len(stop.pauses_s) == 9


def test_a_version_resets_the_count_of_failures() -> None:
    stop = _Stop()
    retries = Retries(lambda _: None)
    fails = failing(12, SourceError("no answer"))

    def attempt() -> bool:
        if len(stop.pauses_s) == 6:
            retries.succeeded()
        return fails()

    retries.run(attempt, stop)
    assert stop.pauses_s[6] == 0.5
    assert len(stop.pauses_s) == 12


def test_an_unfinished_attempt_is_repeated_without_a_pause() -> None:
    stop, done = _Stop(), [False, False, True]
    Retries(lambda _: None).run(lambda: done.pop(0), stop)
    assert (done, stop.pauses_s) == ([], [])


def test_other_errors_end_it_at_once() -> None:
    stop = _Stop()
    with pytest.raises(ConflictError):
        Retries(lambda _: None).run(failing(1, ConflictError("the lock was lost")), stop)
    assert stop.pauses_s == []


def test_a_failure_after_the_stop_ends_it_silently() -> None:
    stop, notes = _Stop(), list[str]()

    def attempt() -> bool:
        stop.set()
        raise SourceError("Spark's JVM has gone")

    Retries(notes.append).run(attempt, stop)
    assert notes == []
