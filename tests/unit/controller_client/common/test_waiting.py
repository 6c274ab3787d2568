"""Waiting for a state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.waiting import wait_until
from controller_client.errors import WaitTimeoutError
from tests.unit.fake_clock import FakeClock


@given(
    timeout_s=st.floats(0, 100),
    passed_s=st.floats(0, 1e9),
    first_poll_s=st.floats(0.1, 10),
    longest_poll_s=st.floats(0.1, 10),
)
def test_a_wait_ends(timeout_s: float, passed_s: float, first_poll_s: float, longest_poll_s: float) -> None:
    # The rest of a wait may be too short for the clock to advance.
    clock = FakeClock()
    clock.advance(passed_s)
    polls = 0

    def missing() -> str:
        nonlocal polls
        polls += 1
        assert polls < 2_000
        return "all"

    with pytest.raises(WaitTimeoutError, match="last seen: all"):
        wait_until(
            missing,
            what="something",
            timeout_s=timeout_s,
            clock=clock,
            first_poll_s=first_poll_s,
            longest_poll_s=longest_poll_s,
        )
    assert clock.monotonic() - passed_s >= timeout_s * (1 - 1e-6) - 1e-6


def test_checks_become_less_frequent() -> None:
    clock = FakeClock()
    with pytest.raises(WaitTimeoutError):
        wait_until(lambda: "all", what="something", timeout_s=4, clock=clock, longest_poll_s=0.5)
    assert clock.sleeps[:3] == [0.1, 0.125, 0.15625]
    assert max(clock.sleeps) == 0.5


def test_a_present_state_is_not_waited_for() -> None:
    clock = FakeClock()
    wait_until(lambda: None, what="something", timeout_s=0, clock=clock)
    assert clock.sleeps == []
