"""Number and duration of retries, with a fake clock."""

from __future__ import annotations

import logging
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.retry import (
    RetryPolicy,
    TransientFailureError,
    call_with_retry,
    retry_after_s,
)
from controller_client.errors import ConfigError, NotAppliedError, RejectedError
from tests.unit.fake_clock import FakeClock


class Failing:
    """Fails a number of times, then returns."""

    def __init__(
        self, times: int, clock: FakeClock, *, takes_s: float = 0.0, retry_after_s: float | None = None
    ):
        self.left = times
        self.calls = 0
        self._clock = clock
        self._takes_s = takes_s
        self._retry_after_s = retry_after_s

    def __call__(self) -> str:
        self.calls += 1
        self._clock.advance(self._takes_s)
        if self.left:
            self.left -= 1
            raise TransientFailureError(NotAppliedError(f"failure {self.calls}"), "why", self._retry_after_s)
        return "done"


def run(call: Failing, policy: RetryPolicy, clock: FakeClock) -> str:
    return call_with_retry(call, policy=policy, clock=clock, rng=random.Random(1), what="GET /x")


@given(failures=st.integers(0, 8), attempts=st.integers(1, 8))
def test_attempts_are_counted_with_the_first_one(failures: int, attempts: int) -> None:
    clock = FakeClock()
    call = Failing(failures, clock)
    policy = RetryPolicy(attempts=attempts, deadline_s=1e9)
    if failures < attempts:
        assert run(call, policy, clock) == "done"
        assert call.calls == failures + 1
    else:
        with pytest.raises(NotAppliedError, match=f"failure {attempts}"):
            run(call, policy, clock)
        assert call.calls == attempts
    assert len(clock.sleeps) == call.calls - 1


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    clock = FakeClock()
    policy = RetryPolicy(attempts=7, deadline_s=1e9, first_wait_s=1.0, max_wait_s=8.0)
    run(Failing(6, clock), policy, clock)
    for slept, longest in zip(clock.sleeps, [1, 2, 4, 8, 8, 8], strict=True):
        assert longest / 2 <= slept <= longest
    assert len(set(clock.sleeps)) == 6


def test_no_wait_starts_that_would_end_after_the_deadline() -> None:
    clock = FakeClock()
    call = Failing(100, clock, takes_s=10.0)
    with pytest.raises(NotAppliedError):
        run(call, RetryPolicy(attempts=100, deadline_s=35.0, first_wait_s=1.0, max_wait_s=1.0), clock)
    assert call.calls == 4
    assert clock.monotonic() < 45.0


def test_a_retry_after_beyond_the_deadline_gives_up_at_once() -> None:
    clock = FakeClock()
    call = Failing(1, clock, retry_after_s=3600.0)
    with pytest.raises(NotAppliedError):
        run(call, RetryPolicy(attempts=5, deadline_s=30.0), clock)
    assert clock.sleeps == []


def test_other_errors_are_not_repeated() -> None:
    clock = FakeClock()
    calls = []

    def call() -> None:
        calls.append(1)
        raise RejectedError("no")

    with pytest.raises(RejectedError):
        call_with_retry(call, policy=RetryPolicy(), clock=clock, rng=random.Random(1), what="x")
    assert calls == [1]


def test_the_reason_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    with caplog.at_level(logging.WARNING):
        run(Failing(1, clock), RetryPolicy(attempts=2), clock)
    assert "GET /x failed (why), attempt 1 of 2" in caplog.text


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"deadline_s": -1.0}, {"max_wait_s": -0.1}])
def test_an_invalid_policy_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        RetryPolicy(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), (" 7 ", 7.0), (None, None), ("²", None), ("٣", None), ("9" * 400, None), ("-1", None)],
)
def test_a_retry_after_is_a_number_of_seconds_or_nothing(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, 0.0) == seconds
