"""When a lock counts as lost; without ZooKeeper, calling the listener as kazoo's thread does."""

import pytest
from kazoo.protocol.states import KazooState

from controller_client.common.names import TableName
from controller_client.errors import DataError, LockHeldError
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


@pytest.mark.parametrize(
    ("state", "seconds", "is_checked", "is_lost"),
    [
        (KazooState.SUSPENDED, 3.0, True, False),
        (KazooState.SUSPENDED, 3.4, True, True),
        (KazooState.SUSPENDED, 60.0, False, True),
        (KazooState.LOST, 0.0, False, True),
    ],
)
def test_it_is_lost_permanently_if_a_disconnection_may_have_cost_it(
    lock: TableLock, clock: FakeClock, state: str, seconds: float, is_checked: bool, is_lost: bool
) -> None:
    lock._on_state(state)
    clock.advance(seconds)
    if is_checked:
        assert lock.lost is is_lost
    lock._on_state(KazooState.CONNECTED)
    clock.advance(97.0)
    assert lock.lost is is_lost


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


@pytest.mark.parametrize("since", ["NaN", "Infinity", "-Infinity", "1e300", "-1e300", "253402300800"])
def test_a_time_that_no_calendar_has_is_shown_as_none(since: str) -> None:
    text = f'{{"format": 1, "owner": "o", "host": "h", "pid": 1, "since_epoch_s": {since}}}'
    assert str(LockHolder.from_json(text, "/x")) == "o (host h, pid 1, since -)"


def test_an_entry_that_names_no_holder_holds_the_lock() -> None:
    store, zookeeper = memory_store()
    lock = TableLock(store, TableName("t_OFFLINE"), "FileIngestionTask", "me")
    entry = b'{"format": 1, "owner": "o", "host": "h", "pid": Infinity, "since_epoch_s": 0.0}'
    zookeeper.create(f"{lock.path}/x__lock__0000000001", entry)
    with pytest.raises(DataError):
        lock.holder()
    with pytest.raises(LockHeldError, match="held by an unnamed process"):
        lock.acquire(0.0)


def test_without_waiting_for_a_held_lock_nothing_is_written() -> None:
    store, zookeeper = memory_store()
    lock = TableLock(store, TableName("t_OFFLINE"), "FileIngestionTask", "me")
    zookeeper.create(f"{lock.path}/x__lock__0000000001", LockHolder("o", "h", 1, 0.0).to_json().encode())
    written = zookeeper.writes
    with pytest.raises(LockHeldError, match="held by o"):
        lock.acquire(0.0)
    assert zookeeper.writes == written
