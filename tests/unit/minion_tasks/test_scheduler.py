from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConfigError, LockHeldError, SourceError, UnreachableError
from minion_tasks.scheduler import Scheduler, Triggers
from tests.unit.fake_clock import FakeClock

T = TypeVar("T")


class Every:
    """Fires at each multiple of its period."""

    def __init__(self, expression: str) -> None:
        if not expression.isdecimal():
            raise ConfigError(f"{expression!r} is not a period")
        self.period_s = int(expression)

    def next_after(self, epoch_s: float) -> float | None:
        return (epoch_s // self.period_s + 1) * self.period_s


def make(schedules: dict[str, str], now_s: float = 0.0) -> Triggers:
    triggers = Triggers(Every)
    triggers.refresh(schedules, now_s)
    return triggers


def test_a_table_fires_at_its_times() -> None:
    triggers = make({"t": "10"})
    assert triggers.due(9.9) == {}
    assert triggers.due(10.0) == {"t": 10}
    triggers.ended("t")
    assert triggers.due(19.0) == {}
    assert triggers.due(20.5) == {"t": 20}


def test_a_trigger_during_a_run_waits_for_its_end_and_several_are_one() -> None:
    triggers = make({"t": "10"})
    assert triggers.due(10) == {"t": 10}
    assert triggers.due(20) == {}
    assert triggers.due(30) == {}
    triggers.ended("t")
    assert triggers.due(31) == {"t": 30}
    triggers.ended("t")
    assert triggers.due(32) == {}


def test_a_wrong_expression_is_left_out_until_it_is_fixed() -> None:
    triggers = make({"bad": "x", "good": "10"})
    assert triggers.due(10) == {"good": 10}
    triggers.refresh({"bad": "5", "good": "10"}, 11)
    assert triggers.due(15) == {"bad": 15}


def test_a_changed_expression_counts_from_its_change() -> None:
    triggers = make({"t": "10"})
    triggers.refresh({"t": "100"}, 5)
    assert triggers.due(10) == {}
    assert triggers.due(100) == {"t": 100}


def test_a_removed_table_does_not_fire() -> None:
    triggers = make({"t": "10"})
    triggers.refresh({}, 5)
    assert triggers.due(10) == {}


@given(st.lists(st.sampled_from(["tick", "end"]), max_size=40))
def test_a_table_never_runs_twice_at_once(steps: list[str]) -> None:
    triggers, now, running = make({"t": "3"}), 0.0, 0
    for step in steps:
        now += 1
        if step == "tick":
            running += len(triggers.due(now))
        elif running:
            triggers.ended("t")
            running -= 1
        assert running <= 1


def test_a_run_that_could_not_begin_is_due_at_once() -> None:
    triggers = make({"t": "10"})
    assert triggers.due(10) == {"t": 10}
    triggers.ended("t", again=True)
    assert triggers.due(11) == {"t": 10}
    triggers.ended("t")
    assert triggers.due(12) == {}


def test_a_run_that_could_not_begin_is_due_for_the_time_that_came_since() -> None:
    triggers = make({"t": "10"})
    triggers.due(10)
    assert triggers.due(20) == {}
    triggers.ended("t", again=True)
    assert triggers.due(21) == {"t": 20}


def test_a_table_that_came_back_with_a_wrong_expression_is_told_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    triggers = make({"bad": "x"})
    triggers.refresh({"bad": "x"}, 1)
    assert len(caplog.records) == 1
    triggers.refresh({}, 2)
    triggers.refresh({"bad": "x"}, 3)
    assert len(caplog.records) == 2


class Inline(Executor):
    """Runs what is submitted at once, in the caller's thread."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def serve(
    schedules: Callable[[float], Mapping[str, str]],
    run: Callable[[str, FakeClock], None],
    until_s: float,
) -> list[tuple[float, str]]:
    """Serve from 0 to a time with a look at the schedules every 5 s; return when which table's run began."""
    stop, began = threading.Event(), list[tuple[float, str]]()
    clock = FakeClock(now=0.0)

    def on_sleep(now_s: float) -> None:
        if now_s >= until_s:
            stop.set()

    def one(name: str, _scheduled_s: float) -> None:
        began.append((clock.now(), name))
        run(name, clock)

    clock.on_sleep = on_sleep
    scheduler = Scheduler(lambda: schedules(clock.now()), one, Every, clock, refresh_s=5.0, pool=Inline())
    scheduler.serve(stop)
    return began


def test_each_table_is_run_at_its_times() -> None:
    began = serve(lambda _now: {"a": "10", "b": "15"}, lambda _name, _clock: None, until_s=35)
    assert began == [(10, "a"), (15, "b"), (20, "a"), (30, "a"), (30, "b")]


def test_triggers_during_a_run_are_one_run_after_it() -> None:
    def run(_name: str, clock: FakeClock) -> None:
        if clock.now() == 10:
            clock.advance(25)

    # At 36 for those of 20 and 30; the one of 40 is on time again.
    assert serve(lambda _now: {"a": "10"}, run, until_s=45) == [(10, "a"), (36, "a"), (40, "a")]


def test_a_run_that_fails_does_not_keep_the_next_ones(caplog: pytest.LogCaptureFixture) -> None:
    def run(_name: str, clock: FakeClock) -> None:
        if clock.now() == 10:
            raise SourceError("no file matches")
        if clock.now() == 20:
            raise RuntimeError("a fault of ours")

    assert serve(lambda _now: {"a": "10"}, run, until_s=35) == [(10, "a"), (20, "a"), (30, "a")]
    assert ["no file matches" in caplog.messages[0], "unexpectedly" in caplog.messages[1]] == [True, True]


def test_a_table_whose_lock_is_held_is_tried_again_until_it_runs() -> None:
    def run(_name: str, clock: FakeClock) -> None:
        if clock.now() < 13:
            raise LockHeldError("held by somebody")

    began = serve(lambda _now: {"a": "10"}, run, until_s=25)
    assert began == [(10, "a"), (11, "a"), (12, "a"), (13, "a"), (20, "a")]


def test_schedules_are_looked_at_again_and_again() -> None:
    def schedules(now_s: float) -> Mapping[str, str]:
        if 5 <= now_s < 15:
            raise UnreachableError("the controller restarts")  # what is known stays
        return {"a": "10"} if now_s < 25 else {"b": "10"}

    began = serve(schedules, lambda _name, _clock: None, until_s=35)
    assert began == [(10, "a"), (20, "a"), (30, "b")]


def test_told_to_stop_it_waits_for_the_run_that_goes_on() -> None:
    stop, stopping, ended = threading.Event(), threading.Event(), list[str]()

    def run(name: str, _scheduled_s: float) -> None:
        stop.set()
        assert stopping.wait(10)
        ended.append(name)

    def on_sleep(now_s: float) -> None:
        if now_s > 10:
            assert stop.wait(10)
            stopping.set()

    clock = FakeClock(now=0.0, on_sleep=on_sleep)
    Scheduler(lambda: {"a": "10"}, run, Every, clock).serve(stop)
    assert ended == ["a"]
