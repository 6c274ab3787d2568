"""A scheduled trigger fires once, on whichever scheduler is first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.errors import LeaseLostError
from controller_client.zookeeper import Write, ZNRecord
from controller_client.zookeeper.transaction import CheckVersion
from minion_tasks.file_ingestion.run.fired import FiredTriggers, fired_path
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store

NOW_S = 1_700_000_000.0
TABLE = TableName("t_OFFLINE")
PATH = fired_path(TABLE)
LEASE = "/c/PINOT_PLUGINS/leases/scheduler/x-0000000000"


def make(count: int = 2) -> tuple[list[FiredTriggers], MemoryZooKeeper, FakeClock]:
    store, zookeeper = memory_store()
    clock = FakeClock(NOW_S)
    return [FiredTriggers(store, clock, f"scheduler {n}") for n in range(count)], zookeeper, clock


def test_a_second_scheduler_does_not_fire_the_trigger_again() -> None:
    (first, second), _, _ = make()
    assert not second.was_made(TABLE, NOW_S)
    assert first.claim(TABLE, NOW_S)
    assert second.was_made(TABLE, NOW_S)
    assert not second.claim(TABLE, NOW_S)
    assert not second.was_made(TABLE, NOW_S + 0.001)
    assert second.claim(TABLE, NOW_S + 60)
    # A trigger that waited until a later one was fired has nothing to do either.
    assert not first.claim(TABLE, NOW_S + 30)


def test_one_of_two_concurrent_writers_wins() -> None:
    (first, second), zookeeper, _ = make()
    assert first.claim(TABLE, NOW_S)
    others: list[bool] = []

    def other_first(_path: str) -> None:
        zookeeper.before_set = lambda _path: None
        others.append(second.claim(TABLE, NOW_S + 60))

    zookeeper.before_set = other_first
    assert not first.claim(TABLE, NOW_S + 60)
    assert others == [True]


def test_triggers_of_tables_are_independent() -> None:
    (first, _), _, _ = make()
    assert first.claim(TABLE, NOW_S)
    assert first.claim(TableName("u_OFFLINE"), NOW_S)


def test_a_time_from_a_wrong_clock_does_not_block_the_schedule() -> None:
    (first, second), _, clock = make()
    clock.advance(365 * 86400)
    assert first.claim(TABLE, clock.now())
    clock.advance(-365 * 86400)
    assert second.claim(TABLE, NOW_S)
    assert not first.claim(TABLE, NOW_S)


@pytest.mark.parametrize(
    "content",
    [
        b"garbage",
        b"\x1f\x8bno gzip",
        b"{}",
        ZNRecord("s").to_bytes(),
        ZNRecord("s", {"firedMs": "x"}).to_bytes(),
    ],
)
def test_a_damaged_record_is_replaced(content: bytes) -> None:
    (first, second), zookeeper, _ = make()
    zookeeper.znodes["/c/PROPERTYSTORE" + PATH] = (content, 4)
    assert not first.was_made(TABLE, NOW_S)
    assert first.claim(TABLE, NOW_S)
    assert not second.claim(TABLE, NOW_S)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20)), max_size=40))
def test_no_trigger_fires_twice(attempts: list[tuple[int, int]]) -> None:
    schedulers, _, _ = make(3)
    made = [minute for who, minute in attempts if schedulers[who].claim(TABLE, NOW_S + 60 * minute)]
    assert made == sorted(set(made))
    assert not attempts or max(made) == max(minute for _, minute in attempts)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_trigger_is_claimed_only_with_the_lease(is_first: bool) -> None:
    (first, second), zookeeper, _ = make()
    if not is_first:
        assert second.claim(TABLE, NOW_S - 60)
    zookeeper.create(LEASE, b"first")
    asked: list[bool] = []

    def guard() -> Write:
        asked.append(zookeeper.exists(LEASE))
        if len(asked) == 2:
            raise LeaseLostError("this scheduler does not hold its lease")
        # Until it is notified, the process believes that it has the lease.
        zookeeper.delete(LEASE)
        return CheckVersion(LEASE, 0)

    with pytest.raises(LeaseLostError):
        first.claim(TABLE, NOW_S, guard=guard)
    assert asked == [True, False]
    assert not second.was_made(TABLE, NOW_S)
    zookeeper.create(LEASE, b"second")
    assert second.claim(TABLE, NOW_S, guard=lambda: CheckVersion(LEASE, 0))
    assert not first.claim(TABLE, NOW_S, guard=lambda: CheckVersion(LEASE, 0))
