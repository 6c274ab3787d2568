"""Failures of a coordinator: how often it tries again, how long it pauses, and what ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from controller_client.coordinator.retries import Retries
from controller_client.errors import (
    AuthError,
    ConflictError,
    OutcomeUnknownError,
    PinotPluginError,
    SourceError,
    UnreachableError,
)


class _Stop(threading.Event):
    """Waits for nothing, and keeps for how long it was to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses_s: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses_s.append(timeout or 0.0)
        return self.is_set()


def failing(times: int, error: PinotPluginError) -> Callable[[], bool]:
    """An attempt that fails so many times, and then is done."""
    left = [times]

    def attempt() -> bool:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return True

    return attempt


@pytest.mark.parametrize("kind", [SourceError, UnreachableError, AuthError, OutcomeUnknownError])
def test_it_tries_again_after_longer_and_longer_pauses(kind: type[PinotPluginError]) -> None:
    stop, notes = _Stop(), list[str]()
    Retries(notes.append).run(failing(9, kind("no answer")), stop)
    assert stop.pauses_s == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert notes[0] == "no answer; trying again in 0.5 s"


def test_the_tenth_failure_without_a_version_between_ends_it() -> None:
    stop = _Stop()
    with pytest.raises(SourceError):
        Retries(lambda _: None).run(failing(10, SourceError("no answer")), stop)
    assert len(stop.pauses_s) == 9


def test_a_version_makes_earlier_failures_uncounted() -> None:
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


def test_an_attempt_that_is_not_done_is_made_again_without_a_pause() -> None:
    stop, done = _Stop(), [False, False, True]
    Retries(lambda _: None).run(lambda: done.pop(0), stop)
    assert (done, stop.pauses_s) == ([], [])


def test_other_errors_end_it_at_once() -> None:
    stop = _Stop()
    with pytest.raises(ConflictError):
        Retries(lambda _: None).run(failing(1, ConflictError("the lock was lost")), stop)
    assert stop.pauses_s == []


def test_a_failure_after_the_stop_is_the_end() -> None:
    stop, notes = _Stop(), list[str]()

    def attempt() -> bool:
        stop.set()
        raise SourceError("Spark's JVM has gone")

    Retries(notes.append).run(attempt, stop)
    assert notes == []
