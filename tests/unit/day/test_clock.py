"""The clock of a compressed day: fast and slow stretches, and the conversion of real times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.day.clock import HOUR_S, DayClock
from tests.unit.fake_clock import FakeClock

BEGIN_S = 1_700_000_000.0


def made(rate: float) -> tuple[DayClock, FakeClock]:
    real = FakeClock(BEGIN_S)
    return DayClock(rate, real), real


def test_an_hour_takes_as_long_as_the_rate_says_and_a_restart_as_long_as_it_takes() -> None:
    day, real = made(120)
    day.wait_until(2 * HOUR_S)
    assert real.monotonic() == 60
    with day.at_rate(1):
        real.advance(20)
    assert day.now_s == 2 * HOUR_S + 20
    day.wait_until(3 * HOUR_S + 20)
    assert day.real_s == real.monotonic() == 60 + 20 + 30
    day.wait_until(HOUR_S)  # already past
    assert real.monotonic() == 110


def test_a_real_time_is_where_it_was_in_the_day() -> None:
    day, real = made(100)
    real.advance(10)
    with day.at_rate(1):
        real.advance(10)
        with day.at_rate(50):
            real.advance(10)
        real.advance(10)
    real.advance(10)
    assert [day.day_of(BEGIN_S + seconds) for seconds in (0, 10, 20, 25, 30, 40, 50)] == [
        *(0, 1000, 1010, 1260, 1510, 1520, 2520)
    ]
    # Before the day, time passed at real speed.
    assert day.day_of(BEGIN_S - 30) == -30


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.5, 200)), max_size=8), st.floats(0, 1))
def test_the_date_never_goes_back(stretches: list[tuple[float, float]], part: float) -> None:
    day, real = made(1)
    seen = [(real.now(), day.now_s)]
    for seconds, rate in stretches:
        with day.at_rate(rate):
            real.advance(seconds * part)
            seen.append((real.now(), day.now_s))
        real.advance(seconds)
        seen.append((real.now(), day.now_s))
    assert seen == sorted(seen)
    assert [day.day_of(real_s) for real_s, _ in seen] == pytest.approx([day_s for _, day_s in seen], abs=1e-3)


def test_what_a_check_finds_ends_the_day_at_once() -> None:
    day, real = made(60)

    def check() -> None:
        assert real.monotonic() < 10, "the scheduler has ended"

    with pytest.raises(AssertionError, match="the scheduler has ended"):
        day.wait_until(HOUR_S, check)
    assert real.monotonic() == 10
