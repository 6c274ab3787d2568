"""kill -9 at the worst moments: readers see the old rows, the next run ends with every row exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.lineage import LineageState
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.progress import read_progress
from minion_tasks.file_ingestion.session import SessionState
from minion_tasks.file_ingestion.session_store import SessionStore
from tests.faults.file_ingestion.killing import kill_when, new_session
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

FILES, ROWS = 12, 500
OLD, NEW = ROWS, ROWS * (FILES + 1)


@pytest.fixture
def sessions(pinot: PinotCluster, ingestion_table: IngestionTable) -> Iterator[SessionStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield SessionStore(store, ingestion_table.with_type)


@pytest.fixture
def loaded(ingestion_table: IngestionTable, shared_folder: Path) -> IngestionTable:
    """A table that serves one file's rows, and twelve new files in its source."""
    write_numbers(shared_folder, "old.csv", 0, ROWS)
    table = ingestion_table.create(replication=2).register(shared_folder, "csv", taskMaxNumFilesPerTask="4")
    assert table.run().report["rows"] == OLD
    for n in range(1, FILES + 1):
        write_numbers(shared_folder, f"new-{n:02d}.csv", n * ROWS, ROWS)
    return table


@pytest.mark.parametrize("moment", ["state SWITCH", "lineage entry open", "half of the segments pushed"])
def test_the_run_is_killed_in_the_switch(loaded: IngestionTable, sessions: SessionStore, moment: str) -> None:
    before = sessions.ids()

    def in_switch() -> bool:
        session = new_session(sessions, before)
        return session is not None and session.state is SessionState.SWITCH

    def entry_open() -> bool:
        entries = loaded.client.lineage.list(loaded.with_type)
        return any(entry.state is LineageState.IN_PROGRESS for entry in entries)

    def half_pushed() -> bool:
        return len(loaded.segments()) > FILES // 2

    moments = {
        "state SWITCH": in_switch,
        "lineage entry open": entry_open,
        "half of the segments pushed": half_pushed,
    }
    with loaded.polled() as reader:
        kill_when(loaded.start(), moments[moment], moment)
        reader.poll_until(reader.polls + 50)
        report = loaded.run().report
        reader.poll_until(reader.polls + 50)
    assert report["outcome"] == "finished the switch of an earlier run"
    assert report["rows"] == NEW - OLD
    assert [row[0] for row in reader.seen] == [OLD, NEW]
    assert reader.errors == []
    assert loaded.value("select sum(id) from {t}") == sum(range(NEW))
    assert loaded.run().report["outcome"] == "nothing new"


def test_the_run_is_killed_while_subtasks_run(loaded: IngestionTable, sessions: SessionStore) -> None:
    before = sessions.ids()

    def some_staged() -> bool:
        session = new_session(sessions, before)
        return (
            session is not None
            and session.state is SessionState.IN_PROGRESS
            and session.task_name is not None
        )

    with loaded.polled() as reader:
        kill_when(loaded.start(), some_staged, "the subtasks to run")
        report = loaded.run().report
        reader.poll_until(reader.polls + 50)
    assert report["rows"] == NEW - OLD
    assert [row[0] for row in reader.seen] == [OLD, NEW]
    assert loaded.value("select sum(id) from {t}") == sum(range(NEW))


def test_the_minion_is_killed_in_a_subtask(
    pinot: PinotCluster, loaded: IngestionTable, sessions: SessionStore, shared_folder: Path
) -> None:
    # One larger file a group, one after the other: the minion dies in the middle of one.
    for n in range(4):
        write_numbers(shared_folder, f"large-{n}.csv", NEW + n * 60_000, 60_000)
    total = NEW + 4 * 60_000
    loaded.register(shared_folder, "csv", taskMaxNumFilesPerTask="1", numConcurrentTasksPerInstance="1")
    before = sessions.ids()

    def in_the_middle() -> bool:
        session = new_session(sessions, before)
        if session is None or session.state is not SessionState.IN_PROGRESS:
            return False
        return 0 < read_progress(sessions, session).staged < session.files

    with loaded.polled() as reader:
        process = loaded.start()
        wait_for(in_the_middle, "a part of the files to be staged", timeout_s=240, interval_s=0.02)
        pinot.kill("minion")
        reader.poll_until(reader.polls + 50)
        pinot.start("minion")
        # The run may end well, since Helix gives the subtask to the minion again, or fail: both are right.
        process.communicate(timeout=600)
        loaded.run()
        reader.poll_until(reader.polls + 50)
    assert [row[0] for row in reader.seen] == [OLD, total]
    assert loaded.value("select sum(id) from {t}") == sum(range(total))
    assert loaded.run().report["outcome"] == "nothing new"
