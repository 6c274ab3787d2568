"""kill -9 of the active one of two schedulers, watches or key coordinators: the standby takes over.

It takes less than the usual session timeout according to ZooKeeper itself: see ``place``.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from controller_client.upsert.record import LOCK
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.faults.takeover.place import SESSION_S, OrdinarySession, Several, standing
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.integration.upsert.coordinator.conftest import MakeTable
from tests.integration.upsert.coordinator.test_coordinator import Feed
from tests.support.cluster import PinotCluster
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture
def usual(store: PropertyStore) -> Iterator[OrdinarySession]:
    session = OrdinarySession(store)
    yield session
    session.close()


def kill_and_take_over(
    store: PropertyStore,
    usual: OrdinarySession,
    several: Several,
    name: str,
    processes: tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]],
) -> None:
    """Kill the first, and assert that the second gets the lease with the place it had in the queue."""
    first, second = processes
    before = standing(store, name)
    usual.kill()
    first.kill()
    first.wait()
    several.wait_in_line(store, name, second)
    # No other process has joined, so the last change is the removal of the killed one.
    line = store.connection.read_children(f"/{store.cluster_name}/PINOT_PLUGINS/leases/{name}")
    assert [each.number for each in standing(store, name)] == [before[1].number]
    several.wait_logged(second, "takes over")
    assert line.zxid > before[1].number
    assert line.zxid < usual.ended_in(), "a usual session with an earlier last heartbeat had ended before"


def test_a_scheduler_takes_over_in_the_middle_of_a_run(
    store: PropertyStore,
    usual: OrdinarySession,
    schedulers: Several,
    ingestion_table: IngestionTable,
    shared_folder: Path,
) -> None:
    """Then the other one is stopped in the middle of a run, and ends the run first."""
    table = ingestion_table.create()
    write_numbers(shared_folder, "first.csv", 0, 10)
    table.register(shared_folder, "csv", schedule="0/2 * * * * ?")
    first = schedulers.start()
    schedulers.wait_in_line(store, "scheduler", first)
    second = schedulers.start()
    schedulers.wait_logged(second, f"stands by: {standing(store, 'scheduler')[0].holder}")
    table.wait_count(10)

    sessions = SessionStore(store, table.with_type)

    def session_is_open() -> bool:
        session = sessions.latest()
        return session is not None and session.is_open

    def assert_ended(retries: int) -> None:
        last = sessions.latest()
        assert last is not None
        assert last.state is SessionState.DONE
        assert last.retry_count <= retries

    wait_for(lambda: not session_is_open(), "the end of the first run")
    write_numbers(shared_folder, "second.csv", 10, 20_000)
    wait_for(session_is_open, "a run of the second file", interval_s=0.01)
    assert "triggered by its schedule" not in schedulers.log(second)
    kill_and_take_over(store, usual, schedulers, "scheduler", (first, second))
    table.wait_count(20_010)
    wait_for(lambda: not session_is_open(), "the end of the second run")
    assert_ended(1)  # of the run that was killed

    write_numbers(shared_folder, "third.csv", 20_010, 20_000)
    wait_for(session_is_open, "a run of the third file", interval_s=0.01)
    second.send_signal(signal.SIGTERM)
    assert second.wait(300) == 0
    with pytest.raises(ProcessLookupError):  # nor is a child of it left
        os.killpg(second.pid, 0)
    assert_ended(0)
    assert f"{table.with_type}: switched, 1 files, 20000 rows" in schedulers.log(second)
    table.wait_count(40_010)
    assert table.value("select sum(id) from {t}") == sum(range(40_010))


@FULL
def test_a_stopping_scheduler_releases_its_lease_at_once(store: PropertyStore, schedulers: Several) -> None:
    first = schedulers.start()
    schedulers.wait_in_line(store, "scheduler", first)
    second = schedulers.start()
    schedulers.wait_in_line(store, "scheduler", first, second)
    number = standing(store, "scheduler")[1].number
    first.send_signal(signal.SIGTERM)
    assert first.wait(300) == 0
    # Its session was closed, so nothing had to wait for its timeout.
    assert [each.number for each in standing(store, "scheduler")] == [number]
    schedulers.wait_logged(second, "takes over")


@FULL
def test_a_watch_takes_over(
    pinot: PinotCluster, store: PropertyStore, usual: OrdinarySession, tmp_path: Path
) -> None:
    name = "deepstore-watch-audit-only"
    audited = "controller_client.deepstore.watch: "
    words = ("deepstore", "watch", "--audit-only", "--interval", "1")
    with Several(tmp_path, pinot.controller_url, *words) as watches:
        first = watches.start()
        watches.wait_in_line(store, name, first)
        watches.wait_logged(first, audited)
        second = watches.start()
        watches.wait_logged(second, "stands by")
        assert audited not in watches.log(second)
        kill_and_take_over(store, usual, watches, name, (first, second))
        watches.wait_logged(second, audited)


@FULL
@pytest.mark.kafka
def test_a_key_coordinator_takes_over(
    store: PropertyStore, usual: OrdinarySession, make_table: MakeTable
) -> None:
    table = make_table({"user": "STRING", "account": "LONG", "text": "STRING"}, ["user", "account"], 2)
    feed = Feed(table, seed=31)
    options = (f"--session-timeout={SESSION_S}", "--version-interval=0")
    first = table.start(*options)
    feed.write(500, 2)
    table.wait_passed(table.ends_of_input(), first)
    second = table.start("--standby", *options, folder="standby")
    wait_for(partial(table.has_state, "standby"), "the standby's own state")
    usual.kill()
    first.kill()
    first.wait()
    table.wait_lock(second)
    (held,) = standing(store, f"{table.full_name}/{LOCK}")
    # It retried repeatedly, so its place dates from the moment at which it took over.
    assert held.number < usual.ended_in(), "a usual session with an earlier last heartbeat had ended before"
    feed.write(500, 2)
    table.wait_passed(table.ends_of_input(), second)
    assert table.end(second) == 0
