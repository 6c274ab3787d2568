"""The machine's clock."""

from __future__ import annotations

import time

import pytest

from controller_client.clock import SystemClock


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has this clock")
def test_the_time_of_a_suspended_machine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that was proven before a virtual machine was suspended must not look fresh after it."""
    suspended_s = 0.0
    clocks = {time.CLOCK_MONOTONIC: 100.0, time.CLOCK_BOOTTIME: 100.0}
    monkeypatch.setattr(
        time,
        "clock_gettime",
        lambda clock: clocks[clock] + (suspended_s if clock == time.CLOCK_BOOTTIME else 0.0),
    )
    clock = SystemClock()
    before_s = clock.monotonic()
    suspended_s = 60.0
    assert clock.monotonic() - before_s == 60.0
