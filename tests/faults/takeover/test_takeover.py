"""kill -9 of the active one of two schedulers, watches or key coordinators: the standby takes over.

It takes less than the usual session timeout according to ZooKeeper itself: see ``place``.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
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
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

MakeSeveral = Callable[..., Several]


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as opened:
        yield opened


@pytest.fixture
def usual(store: PropertyStore) -> Iterator[OrdinarySession]:
    session = OrdinarySession(store)
    yield session
    session.close()


@pytest.fixture
def several(pinot: PinotCluster, tmp_path: Path) -> Iterator[MakeSeveral]:
    made: list[Several] = []

    def make(*words: str) -> Several:
        made.append(Several(tmp_path, pinot.controller_url, *words))
        return made[-1]

    yield make
    for each in made:
        each.close()


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
    several: MakeSeveral,
    ingestion_table: IngestionTable,
    shared_folder: Path,
) -> None:
    table = ingestion_table.create()
    write_numbers(shared_folder, "first.csv", 0, 10)
    table.register(shared_folder, "csv", schedule="0/2 * * * * ?")
    schedulers = several("scheduler", "--refresh", "1")
    first = schedulers.start()
    schedulers.wait_in_line(store, "scheduler", first)
    second = schedulers.start()
    schedulers.wait_logged(second, f"stands by: {standing(store, 'scheduler')[0].holder}")
    wait_for(lambda: table.count() == 10, "the rows of the first file")

    sessions = SessionStore(store, table.with_type)

    def session_is_open() -> bool:
        session = sessions.latest()
        return session is not None and session.is_open

    wait_for(lambda: not session_is_open(), "the end of the first run")
    write_numbers(shared_folder, "second.csv", 10, 20_000)
    wait_for(session_is_open, "a run of the second file", interval_s=0.01)
    assert "triggered by its schedule" not in schedulers.log(second)
    kill_and_take_over(store, usual, schedulers, "scheduler", (first, second))

    wait_for(lambda: table.count() == 20_010, "the rows of the second file")
    wait_for(lambda: not session_is_open(), "the end of the second run")
    last = sessions.latest()
    assert last is not None
    assert last.state is SessionState.DONE
    assert last.retry_count <= 1, "the one retry is of the run that was killed"
    assert table.value("select sum(id) from {t}") == sum(range(20_010))


def test_a_stopping_scheduler_releases_its_lease_at_once(
    store: PropertyStore, usual: OrdinarySession, several: MakeSeveral
) -> None:
    schedulers = several("scheduler")
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


def test_a_watch_takes_over(store: PropertyStore, usual: OrdinarySession, several: MakeSeveral) -> None:
    name = "deepstore-watch-audit-only"
    audited = "controller_client.deepstore.watch: "
    watches = several("deepstore", "watch", "--audit-only", "--interval", "1")
    first = watches.start()
    watches.wait_in_line(store, name, first)
    watches.wait_logged(first, audited)
    second = watches.start()
    watches.wait_logged(second, "stands by")
    assert audited not in watches.log(second)
    kill_and_take_over(store, usual, watches, name, (first, second))
    watches.wait_logged(second, audited)


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
