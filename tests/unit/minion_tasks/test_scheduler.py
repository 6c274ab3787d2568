from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, LockHeldError, SourceError, UnreachableError
from minion_tasks.file_ingestion.run.types import NotBegunError
from minion_tasks.scheduler import Scheduler, Triggers
from tests.unit.fake_clock import FakeClock

T = TypeVar("T")

TABLE, A, B, BAD, GOOD = (TableName(f"{name}_OFFLINE") for name in ("t", "a", "b", "bad", "good"))


class Every:
    """Fires at each multiple of its period."""

    def __init__(self, expression: str) -> None:
        if not expression.isdecimal():
            raise ConfigError(f"{expression!r} is not a period")
        self.period_s = int(expression)

    def next_after(self, epoch_s: float) -> float | None:
        return (epoch_s // self.period_s + 1) * self.period_s


def make(schedules: dict[TableName, str], now_s: float = 0.0) -> Triggers:
    triggers = Triggers(Every)
    triggers.refresh(schedules, now_s)
    return triggers


def test_a_table_fires_at_its_times() -> None:
    triggers = make({TABLE: "10"})
    assert triggers.due(9.9) == {}
    assert triggers.due(10.0) == {TABLE: 10}
    triggers.ended(TABLE)
    assert triggers.due(19.0) == {}
    assert triggers.due(20.5) == {TABLE: 20}


def test_triggers_during_a_run_wait_for_its_end_and_count_as_one() -> None:
    triggers = make({TABLE: "10"})
    assert triggers.due(10) == {TABLE: 10}
    assert triggers.due(20) == {}
    assert triggers.due(30) == {}
    triggers.ended(TABLE)
    assert triggers.due(31) == {TABLE: 30}
    triggers.ended(TABLE)
    assert triggers.due(32) == {}


def test_an_invalid_expression_is_skipped_until_it_is_fixed() -> None:
    triggers = make({BAD: "x", GOOD: "10"})
    assert triggers.due(10) == {GOOD: 10}
    triggers.refresh({BAD: "5", GOOD: "10"}, 11)
    assert triggers.due(15) == {BAD: 15}


def test_a_changed_expression_counts_from_its_change() -> None:
    triggers = make({TABLE: "10"})
    triggers.refresh({TABLE: "100"}, 5)
    assert triggers.due(10) == {}
    assert triggers.due(100) == {TABLE: 100}


def test_a_removed_table_does_not_fire() -> None:
    triggers = make({TABLE: "10"})
    triggers.refresh({}, 5)
    assert triggers.due(10) == {}


@given(st.lists(st.sampled_from(["tick", "end"]), max_size=40))
def test_a_table_never_runs_twice_at_once(steps: list[str]) -> None:
    triggers, now, running = make({TABLE: "3"}), 0.0, 0
    for step in steps:
        now += 1
        if step == "tick":
            running += len(triggers.due(now))
        elif running:
            triggers.ended(TABLE)
            running -= 1
        assert running <= 1


def test_a_run_that_could_not_begin_is_due_at_once_for_the_latest_trigger() -> None:
    triggers = make({TABLE: "10"})
    assert triggers.due(10) == {TABLE: 10}
    triggers.ended(TABLE, again=True)
    assert triggers.due(11) == {TABLE: 10}
    assert triggers.due(20) == {}
    triggers.ended(TABLE, again=True)
    assert triggers.due(21) == {TABLE: 20}
    triggers.ended(TABLE)
    assert triggers.due(22) == {}


def test_a_table_that_returns_with_an_invalid_expression_is_reported_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    triggers = make({BAD: "x"})
    triggers.refresh({BAD: "x"}, 1)
    assert len(caplog.records) == 1
    triggers.refresh({}, 2)
    triggers.refresh({BAD: "x"}, 3)
    assert len(caplog.records) == 2


class Inline(Executor):
    """Runs what is submitted at once, in the caller's thread."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def serve(
    schedules: Callable[[float], Mapping[TableName, str]],
    run: Callable[[TableName, FakeClock], None],
    until_s: float,
) -> list[tuple[float, TableName]]:
    """Serve from 0 to a time, reading the schedules every 5 s; return when each table's runs began."""
    stop, began = threading.Event(), list[tuple[float, TableName]]()
    clock = FakeClock(now=0.0)

    def on_sleep(now_s: float) -> None:
        if now_s >= until_s:
            stop.set()

    def one(name: TableName, _scheduled_s: float) -> None:
        began.append((clock.now(), name))
        run(name, clock)

    clock.on_sleep = on_sleep
    scheduler = Scheduler(lambda: schedules(clock.now()), one, Every, clock, refresh_s=5.0, pool=Inline())
    scheduler.serve(stop)
    return began


def test_each_table_is_run_at_its_times() -> None:
    began = serve(lambda _now: {A: "10", B: "15"}, lambda _name, _clock: None, until_s=35)
    assert began == [(10, A), (15, B), (20, A), (30, A), (30, B)]


def test_triggers_during_a_run_result_in_one_run_after_it() -> None:
    def run(_name: TableName, clock: FakeClock) -> None:
        if clock.now() == 10:
            clock.advance(25)

    # The run at 36 covers the triggers of 20 and 30; the trigger of 40 is on time again.
    assert serve(lambda _now: {A: "10"}, run, until_s=45) == [(10, A), (36, A), (40, A)]


def test_a_failed_run_does_not_block_later_runs(caplog: pytest.LogCaptureFixture) -> None:
    def run(_name: TableName, clock: FakeClock) -> None:
        if clock.now() == 10:
            raise SourceError("no file matches")
        if clock.now() == 20:
            raise RuntimeError("a fault of ours")

    assert serve(lambda _now: {A: "10"}, run, until_s=35) == [(10, A), (20, A), (30, A)]
    assert ["no file matches" in caplog.messages[0], "unexpected error" in caplog.messages[1]] == [True, True]


def test_a_table_whose_lock_is_held_is_retried_until_it_runs() -> None:
    def run(_name: TableName, clock: FakeClock) -> None:
        if clock.now() < 13:
            raise LockHeldError("held by somebody")

    began = serve(lambda _now: {A: "10"}, run, until_s=25)
    assert began == [(10, A), (11, A), (12, A), (13, A), (20, A)]


def test_schedules_are_read_periodically() -> None:
    def schedules(now_s: float) -> Mapping[TableName, str]:
        if 5 <= now_s < 15:
            raise UnreachableError("the controller is restarting")  # the last schedules stay in effect
        return {A: "10"} if now_s < 25 else {B: "10"}

    began = serve(schedules, lambda _name, _clock: None, until_s=35)
    assert began == [(10, A), (20, A), (30, B)]


def test_a_stopping_scheduler_waits_for_the_current_run() -> None:
    stop, stopping, ended = threading.Event(), threading.Event(), list[TableName]()

    def run(name: TableName, _scheduled_s: float) -> None:
        stop.set()
        assert stopping.wait(10)
        ended.append(name)

    def on_sleep(now_s: float) -> None:
        if now_s > 10:
            assert stop.wait(10)
            stopping.set()

    clock = FakeClock(now=0.0, on_sleep=on_sleep)
    Scheduler(lambda: {A: "10"}, run, Every, clock).serve(stop)
    assert ended == [A]


def test_a_run_that_cannot_begin_because_the_cluster_is_down_begins_once_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def run(_name: TableName, clock: FakeClock) -> None:
        if clock.now() < 14:
            raise NotBegunError("the controller does not answer")

    assert serve(lambda _now: {A: "10"}, run, until_s=25) == [*((at_s, A) for at_s in range(10, 15)), (20, A)]
    assert len([message for message in caplog.messages if "does not answer" in message]) == 1
