"""The lock against a real ZooKeeper: waiting, naming the holder, dead holders, lost sessions."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from controller_client.common.names import TableName
from controller_client.errors import ConflictError, FormatVersionError, LockHeldError, UnreachableError
from controller_client.zookeeper import LockHolder, PropertyStore, TableLock
from tests.integration.zookeeper.conftest import Folder, expire_session
from tests.integration.zookeeper.proxy import ZooKeeperProxy
from tests.support.program import HANGS_AFTER_S
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

TASK = "FileIngestionTask"
SESSION_S = 4.0
# Longer than any call to ZooKeeper takes on a busy machine.
ENDS_WITHIN_S = 60.0

HOLD_FOREVER = f"""
import sys
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore, TableLock
address, cluster, table = sys.argv[1:]
with (
    PropertyStore(address, cluster, session_timeout_s={SESSION_S}) as store,
    TableLock(store, TableName(table), "FileIngestionTask", "first") as lock,
):
    lock.acquire(0)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def table(folder: Folder) -> Iterator[TableName]:
    name = TableName(folder.path.removeprefix("/") + "_OFFLINE")
    yield name
    folder.store.connection.delete(f"/{folder.cluster_name}/PINOT_PLUGINS/locks/{name}", recursive=True)


Locks = tuple[TableLock, TableLock]


@contextmanager
def locks_of(first: PropertyStore, second: PropertyStore, table: TableName) -> Iterator[Locks]:
    with TableLock(first, table, TASK, "first") as one, TableLock(second, table, TASK, "second") as other:
        yield one, other


@pytest.fixture
def locks(folder: Folder, table: TableName) -> Iterator[Locks]:
    """The same lock of a table in two sessions."""
    with (
        PropertyStore(folder.zookeeper_address, folder.cluster_name) as other,
        locks_of(folder.store, other, table) as both,
    ):
        yield both


def test_the_second_one_learns_who_holds_it_and_gets_it_after_the_release(locks: Locks) -> None:
    first, second = locks
    first.acquire(0)
    assert not first.lost
    for wait_s in (0, 0.5):
        started = time.monotonic()
        with pytest.raises(LockHeldError, match=r"held by first \(host .*, pid \d+, since 20"):
            second.acquire(wait_s)
        assert wait_s <= time.monotonic() - started < ENDS_WITHIN_S
    with pytest.raises(ConflictError, match="this object already holds the lock"):
        first.acquire(0)

    first.release()
    second.acquire(0)
    holder = first.holder()
    assert holder is not None
    assert holder.owner == "second"
    second.release()
    assert first.holder() is None


def test_a_holder_of_a_later_release_is_waited_for(folder: Folder, locks: Locks) -> None:
    identity = {**json.loads(LockHolder("first", "h", 1, 0.0).to_json()), "format": 2, "renamed": True}
    _, second = locks
    first = folder.store.connection.kazoo().Lock(second.path, identifier=json.dumps(identity))
    assert first.acquire()
    with pytest.raises(LockHeldError, match="held by a process of a later release"):
        second.acquire(0)
    with pytest.raises(FormatVersionError, match="is of format version 2"):
        second.holder()
    first.release()
    second.acquire(ENDS_WITHIN_S)
    assert not second.lost


def test_a_waiting_one_gets_it_when_it_is_released(folder: Folder, locks: Locks) -> None:
    first, second = locks
    first.acquire(0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second.acquire, HANGS_AFTER_S)
        wait_for(lambda: len(_line(folder, second)) == 2, "the second one to stand in line")
        assert not waiting.done()
        first.release()
        waiting.result()
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
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with TableLock(folder.store, table, TASK, "second") as lock:
            with pytest.raises(LockHeldError, match=rf"held by first \(host .*, pid {holder.pid}, "):
                lock.acquire(0)
            holder.kill()
            lock.acquire(ENDS_WITHIN_S)
            assert not lock.lost


def test_an_expired_session_loses_the_lock(folder: Folder, locks: Locks) -> None:
    first, second = locks
    first.acquire(0)
    expire_session(folder.store)
    wait_for(lambda: first.lost, "the loss")
    second.acquire(ENDS_WITHIN_S)
    assert first.lost, "it stays lost, though the connection is back"
    holder = second.holder()
    assert holder is not None
    assert holder.owner == "second"
    first.release()
    assert second.holder() == holder, "releasing a lost lock takes nothing from the next holder"


def test_a_cut_connection_counts_as_lost_before_zookeeper_gives_the_lock_away(
    folder: Folder, table: TableName, proxy: ZooKeeperProxy
) -> None:
    with (
        # Long enough for the second one to look before ZooKeeper ends the session of the first.
        PropertyStore(proxy.address, folder.cluster_name, timeout_s=1, session_timeout_s=12.0) as store,
        locks_of(store, folder.store, table) as (first, second),
    ):
        first.acquire(0)
        proxy.go_away()
        wait_for(lambda: first.lost, "the loss")
        with pytest.raises(LockHeldError):
            second.acquire(0)


def test_a_lock_that_is_released_while_zookeeper_is_away_is_free_when_that_is_back(
    folder: Folder, table: TableName, proxy: ZooKeeperProxy
) -> None:
    with (
        PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store,
        locks_of(store, store, table) as (first, second),
    ):
        first.acquire(0)
        session = store.connection.kazoo().client_id
        proxy.go_away()
        first.release()
        proxy.come_back()
        wait_for(lambda: store.connection.exists("/"), "ZooKeeper to be back")
        second.acquire(ENDS_WITHIN_S)
        assert store.connection.kazoo().client_id == session, "the lock did not go with its session"
        assert not second.lost


def test_asking_for_a_lock_while_zookeeper_is_away_ends(
    folder: Folder, table: TableName, proxy: ZooKeeperProxy
) -> None:
    with (
        PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store,
        locks_of(folder.store, store, table) as (first, second),
    ):
        first.acquire(0)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(second.acquire, 2)
            wait_for(lambda: len(_line(folder, second)) == 2, "the second one to stand in line")
            proxy.go_away()
            with pytest.raises(UnreachableError):
                waiting.result(ENDS_WITHIN_S)
        proxy.come_back()
        first.release()
        # The abandoned attempt leaves nothing behind that would hold the lock.
        wait_for(lambda: first.holder() is None, "nobody to hold the lock")


def _line(folder: Folder, lock: TableLock) -> list[str]:
    return folder.store.connection.children(lock.path) or []
