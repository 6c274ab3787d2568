"""The lock against a real ZooKeeper: waiting, naming the holder, dead holders, lost sessions."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from kazoo.client import KazooClient

from controller_client.common.names import TableName
from controller_client.errors import ConflictError, FormatVersionError, LockHeldError, UnreachableError
from controller_client.zookeeper import LockHolder, PropertyStore, TableLock
from tests.integration.zookeeper.conftest import Folder
from tests.integration.zookeeper.proxy import ZooKeeperProxy

pytestmark = pytest.mark.cluster

TASK = "FileIngestionTask"

HOLD_FOREVER = """
import sys, time
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore, TableLock
address, cluster, table = sys.argv[1:]
with (
    PropertyStore(address, cluster) as store,
    TableLock(store, TableName(table), "FileIngestionTask", "first") as lock,
):
    lock.acquire(0)
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def other(folder: Folder) -> Iterator[PropertyStore]:
    with PropertyStore(folder.zookeeper_address, folder.cluster_name) as store:
        yield store


@pytest.fixture
def table(folder: Folder) -> Iterator[TableName]:
    name = TableName(folder.path.removeprefix("/") + "_OFFLINE")
    yield name
    folder.store.connection.delete(f"/{folder.cluster_name}/PINOT_PLUGINS/locks/{name}", recursive=True)


def test_the_second_one_learns_who_holds_it_and_gets_it_after_the_release(
    folder: Folder, other: PropertyStore, table: TableName
) -> None:
    with (
        TableLock(folder.store, table, TASK, "first") as first,
        TableLock(other, table, TASK, "second") as second,
    ):
        first.acquire(0)
        assert not first.lost
        for wait_s in (0, 0.5):
            started = time.monotonic()
            with pytest.raises(LockHeldError, match=r"held by first \(host .*, pid \d+, since 20"):
                second.acquire(wait_s)
            assert wait_s <= time.monotonic() - started < wait_s + 2
        with pytest.raises(ConflictError, match="this object already holds the lock"):
            first.acquire(0)

        first.release()
        second.acquire(0)
        holder = first.holder()
        assert holder is not None
        assert holder.owner == "second"
    assert first.holder() is None


def test_a_holder_of_a_later_release_is_waited_for(
    folder: Folder, other: PropertyStore, table: TableName
) -> None:
    identity = {**json.loads(LockHolder("first", "h", 1, 0.0).to_json()), "format": 2, "renamed": True}
    with TableLock(other, table, TASK, "second") as second:
        first = folder.store.connection.kazoo().Lock(second.path, identifier=json.dumps(identity))
        assert first.acquire()
        with pytest.raises(LockHeldError, match="held by a process of a later release"):
            second.acquire(0)
        with pytest.raises(FormatVersionError, match="is of format version 2"):
            second.holder()
        first.release()
        second.acquire(5)
        assert not second.lost


def test_a_waiting_one_gets_it_when_it_is_released(
    folder: Folder, other: PropertyStore, table: TableName
) -> None:
    with (
        TableLock(folder.store, table, TASK, "first") as first,
        TableLock(other, table, TASK, "second") as second,
    ):
        first.acquire(0)
        timer = threading.Timer(0.5, first.release)
        timer.start()
        second.acquire(20)
        timer.join()
        assert second.holder() is not None
        assert not second.lost


def test_other_tables_and_task_types_do_not_disturb_each_other(folder: Folder, table: TableName) -> None:
    with (
        TableLock(folder.store, table, TASK, "a") as first,
        TableLock(folder.store, table, "OtherTask", "b") as second,
    ):
        first.acquire(0)
        second.acquire(0)


def test_the_lock_of_a_killed_process_is_free_after_its_session_ended(
    folder: Folder, table: TableName
) -> None:
    command = [sys.executable, "-c", HOLD_FOREVER, folder.zookeeper_address, folder.cluster_name, table]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with TableLock(folder.store, table, TASK, "second") as lock:
            with pytest.raises(LockHeldError, match=rf"held by first \(host .*, pid {holder.pid}, "):
                lock.acquire(0)
            holder.kill()
            started = time.monotonic()
            lock.acquire(30)
            assert time.monotonic() - started < 20
            assert not lock.lost


def test_an_expired_session_loses_the_lock(folder: Folder, other: PropertyStore, table: TableName) -> None:
    with (
        TableLock(folder.store, table, TASK, "first") as first,
        TableLock(other, table, TASK, "second") as second,
    ):
        first.acquire(0)
        _expire_session(folder)
        _wait_until(lambda: first.lost)
        second.acquire(5)
        assert first.lost, "it stays lost, though the connection is back"
        holder = second.holder()
        assert holder is not None
        assert holder.owner == "second"
        first.release()
        assert second.holder() == holder, "releasing a lost lock takes nothing from the next holder"


def test_a_cut_connection_counts_as_lost_before_zookeeper_gives_the_lock_away(
    folder: Folder, table: TableName
) -> None:
    with (
        ZooKeeperProxy(folder.zookeeper_address) as proxy,
        PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store,
        TableLock(store, table, TASK, "first") as first,
        TableLock(folder.store, table, TASK, "second") as second,
    ):
        first.acquire(0)
        proxy.go_away()
        _wait_until(lambda: first.lost)
        with pytest.raises(LockHeldError):
            second.acquire(0)


def test_a_lock_that_is_released_while_zookeeper_is_away_is_free_when_that_is_back(
    folder: Folder, table: TableName
) -> None:
    with (
        ZooKeeperProxy(folder.zookeeper_address) as proxy,
        PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store,
        TableLock(store, table, TASK, "first") as first,
        TableLock(store, table, TASK, "second") as second,
    ):
        first.acquire(0)
        session = store.connection.kazoo().client_id
        proxy.go_away()
        first.release()
        proxy.come_back()
        _wait_until(lambda: _answers(store))
        second.acquire(60)
        assert store.connection.kazoo().client_id == session, "the lock did not go with its session"
        assert not second.lost


def test_asking_for_a_lock_while_zookeeper_is_away_ends(folder: Folder, table: TableName) -> None:
    with (
        ZooKeeperProxy(folder.zookeeper_address) as proxy,
        PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store,
        TableLock(folder.store, table, TASK, "first") as first,
        TableLock(store, table, TASK, "second") as second,
    ):
        first.acquire(0)
        timer = threading.Timer(0.5, proxy.go_away)
        timer.start()
        started = time.monotonic()
        with pytest.raises(UnreachableError):
            second.acquire(2)
        assert time.monotonic() - started < 8
        proxy.come_back()
        first.release()
        # The abandoned attempt leaves nothing behind that would hold the lock.
        _wait_until(lambda: first.holder() is None)


def _expire_session(folder: Folder) -> None:
    """Two connections of one session: closing one ends the session of both (kazoo's own tests do it so)."""
    client_id = folder.store.connection.kazoo().client_id
    twin = KazooClient(folder.zookeeper_address, client_id=client_id)
    twin.start()
    twin.stop()
    twin.close()


def _answers(store: PropertyStore) -> bool:
    try:
        return store.connection.exists("/")
    except UnreachableError:
        return False


def _wait_until(condition: Callable[[], bool], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
