"""Several schedulers: one is active, and its successor fires what it did not."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.errors import LeaseLostError, LockHeldError
from minion_tasks.file_ingestion.run.fired import FiredTriggers
from minion_tasks.scheduler import Scheduler
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store
from tests.unit.minion_tasks.test_scheduler import Every, Inline

A, B = TableName("a_OFFLINE"), TableName("b_OFFLINE")
Started = list[tuple[float, str, TableName, float]]


class Turn:
    """A turn that the test controls."""

    def __init__(self, held: Callable[[], bool]) -> None:
        self._held = held
        self.was_released = False

    @property
    def is_holder(self) -> bool:
        return self._held() and not self.was_released

    def release(self) -> None:
        self.was_released = True


class World:
    """Schedulers that share a record of fired triggers, running in parallel on one clock."""

    def __init__(self) -> None:
        self.clock = FakeClock(now=0.0)
        self.fired_in, _ = memory_store()
        self.holder = ""
        self.started: Started = []
        self.schedulers: dict[str, Scheduler] = {}

    def add(self, name: str, fails: Callable[[], None] = lambda: None) -> None:
        fired = FiredTriggers(self.fired_in, self.clock, name)

        def run(table: TableName, scheduled_s: float) -> None:
            fails()
            if not fired.was_made(table, scheduled_s) and fired.claim(table, scheduled_s):
                self.started.append((self.clock.now(), name, table, scheduled_s))

        turn = Turn(lambda: self.holder == name)
        scheduler = Scheduler(lambda: {A: "10"}, run, Every, self.clock, pool=Inline(), turn=turn)
        scheduler._refresh()
        self.schedulers[name] = scheduler

    def tick(self, until_s: float) -> None:
        while self.clock.now() < until_s:
            self.clock.advance(1)
            for scheduler in self.schedulers.values():
                scheduler._tick()

    @property
    def made(self) -> list[tuple[float, str, float]]:
        return [(at_s, name, scheduled_s) for at_s, name, _, scheduled_s in self.started]


def test_a_standby_starts_nothing_and_repeats_nothing_when_it_takes_over() -> None:
    world = World()
    world.holder = "first"
    world.add("first")
    world.add("second")
    world.tick(25)
    assert world.made == [(10, "first", 10), (20, "first", 20)]
    world.holder = "second"
    world.tick(35)
    assert world.made[2:] == [(30, "second", 30)]


def test_a_trigger_missed_while_no_scheduler_was_active_is_fired_by_the_next() -> None:
    world = World()
    world.holder = "first"
    world.add("first")
    world.add("second")
    world.tick(15)
    world.holder = ""
    world.tick(43)
    world.holder = "second"
    world.tick(55)
    # The last of the triggers at 20, 30 and 40, as for triggers during a run.
    assert world.made == [(10, "first", 10), (44, "second", 40), (50, "second", 50)]


def test_a_scheduler_that_starts_later_fires_from_the_next_time_on() -> None:
    world = World()
    world.clock.advance(23)
    world.holder = "late"
    world.add("late")
    world.tick(35)
    assert world.made == [(30, "late", 30)]


def test_a_trigger_does_not_fire_until_a_scheduler_has_the_lease() -> None:
    world = World()

    def fails() -> None:
        if world.clock.now() == 10:
            world.holder = ""
            raise LeaseLostError("this scheduler does not hold its lease")

    world.holder = "first"
    world.add("first", fails)
    world.tick(14)
    assert world.made == []
    world.holder = "first"
    world.tick(16)
    assert world.made == [(15, "first", 10)]


@given(st.lists(st.tuples(st.sampled_from(["first", "second", ""]), st.integers(1, 25)), max_size=12))
def test_no_trigger_fires_twice_and_none_is_missed_for_long(terms: list[tuple[str, int]]) -> None:
    world = World()
    world.add("first")
    world.add("second")
    for holder, length_s in [*terms, ("second", 10)]:
        world.holder = holder
        world.tick(world.clock.now() + length_s)
        times = [scheduled_s for _, _, scheduled_s in world.made]
        assert times == sorted(set(times))
        if holder:
            assert times[-1:] == [due for due in [world.clock.now() // 10 * 10] if due]


def test_a_stopping_scheduler_releases_its_turn_and_starts_nothing() -> None:
    stop, clock = threading.Event(), FakeClock(now=0.0)
    turn = Turn(lambda: True)
    ended = list[tuple[TableName, bool]]()

    def run(table: TableName, _scheduled_s: float) -> None:
        stop.set()
        while not turn.was_released:
            stop.wait(0.001)
        ended.append((table, turn.is_holder))

    def on_sleep(now_s: float) -> None:
        if now_s > 10:
            assert stop.wait(10)

    clock.on_sleep = on_sleep
    Scheduler(lambda: {A: "10"}, run, Every, clock, turn=turn).serve(stop)
    assert ended == [(A, False)]


def test_a_run_continues_after_the_lease_is_lost_and_nothing_else_starts() -> None:
    world = World()
    world.holder = "first"
    began: list[tuple[float, TableName]] = []

    def run(table: TableName, _scheduled_s: float) -> None:
        began.append((world.clock.now(), table))
        if table == A:
            world.holder = "second"

    def taken_over(table: TableName, scheduled_s: float) -> None:
        # The run of the former holder still has the table's lock.
        if table == A and world.clock.now() < 13:
            raise LockHeldError("held by the first")
        began.append((world.clock.now(), table))

    schedules = {A: "10", B: "10"}
    first = Scheduler(
        lambda: schedules, run, Every, world.clock, pool=Inline(), turn=Turn(lambda: world.holder == "first")
    )
    second = Scheduler(
        lambda: schedules,
        taken_over,
        Every,
        world.clock,
        pool=Inline(),
        turn=Turn(lambda: world.holder == "second"),
    )
    for each in (first, second):
        each._refresh()
    world.schedulers = {"first": first, "second": second}
    world.tick(15)
    assert began == [(10, A), (10, B), (13, A)]
