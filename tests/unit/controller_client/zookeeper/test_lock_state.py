"""When a lock counts as lost; without ZooKeeper, calling the listener as kazoo's thread does."""

import pytest
from kazoo.protocol.states import KazooState

from controller_client.common.names import TableName
from controller_client.errors import LockHeldError
from controller_client.zookeeper import LockHolder, PropertyStore, TableLock
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def lock(clock: FakeClock) -> TableLock:
    store = PropertyStore("127.0.0.1:1", "c")
    return TableLock(store, TableName("t_OFFLINE"), "FileIngestionTask", "me", clock=clock)


def test_a_short_disconnection_loses_nothing(lock: TableLock, clock: FakeClock) -> None:
    lock._on_state(KazooState.SUSPENDED)
    clock.advance(3.0)
    assert not lock.lost
    lock._on_state(KazooState.CONNECTED)
    clock.advance(97.0)
    assert not lock.lost


def test_a_disconnection_that_may_have_cost_the_lock_loses_it_permanently(
    lock: TableLock, clock: FakeClock
) -> None:
    lock._on_state(KazooState.SUSPENDED)
    clock.advance(3.4)
    assert lock.lost
    lock._on_state(KazooState.CONNECTED)
    assert lock.lost


def test_a_long_disconnection_loses_it_even_if_not_checked_meanwhile(
    lock: TableLock, clock: FakeClock
) -> None:
    lock._on_state(KazooState.SUSPENDED)
    clock.advance(60.0)
    lock._on_state(KazooState.CONNECTED)
    assert lock.lost


def test_an_expired_session_loses_it_at_once(lock: TableLock) -> None:
    lock._on_state(KazooState.LOST)
    lock._on_state(KazooState.CONNECTED)
    assert lock.lost


def test_the_holder_is_shown_with_host_process_and_time() -> None:
    assert (
        str(LockHolder("scheduler", "h1", 42, 0.0))
        == "scheduler (host h1, pid 42, since 1970-01-01 00:00:00Z)"
    )


def test_a_holder_of_a_later_release_has_no_name() -> None:
    store, zookeeper = memory_store()
    lock = TableLock(store, TableName("t_OFFLINE"), "FileIngestionTask", "me")
    zookeeper.create(f"{lock.path}/x__lock__0000000001", b'{"format": 2}')
    assert lock._holder_now() == "a process of a later release"
    later = '{"format": 1, "owner": "o", "host": "h", "pid": 1, "since_epoch_s": 0.0, "later": 1}'
    assert LockHolder.from_json(later, "/x") == LockHolder("o", "h", 1, 0.0)


def test_without_waiting_for_a_held_lock_nothing_is_written() -> None:
    store, zookeeper = memory_store()
    lock = TableLock(store, TableName("t_OFFLINE"), "FileIngestionTask", "me")
    zookeeper.create(f"{lock.path}/x__lock__0000000001", LockHolder("o", "h", 1, 0.0).to_json().encode())
    written = zookeeper.writes
    with pytest.raises(LockHeldError, match="held by o"):
        lock.acquire(0.0)
    assert zookeeper.writes == written
