"""Manual actions between a killed run and the next, which starts from scratch: each row is there once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller_client.rest.lineage import LineageEntry, LineageState
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.faults.file_ingestion.killing import kill_when
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.support.cluster import PinotCluster
from tests.support.deleting import create_again
from tests.support.pinotctl import pinotctl
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

FILES, ROWS = 4, 500


def _by_the_doctor(table: IngestionTable, _entry: LineageEntry) -> None:
    arguments = ["lineage", "doctor", table.with_type, "--older-than", "0", "--repair", "--yes"]
    # Not in this process, whose environment the reader's thread uses for each of its queries.
    done = subprocess.run(
        pinotctl(*arguments, controller=table.controller_url),
        env={**os.environ, "PINOTCTL_CONFIG": "/no/such/file"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def _by_the_call(table: IngestionTable, entry: LineageEntry) -> None:
    table.client.lineage.revert(table.with_type, entry.entry_id, force=True)


@pytest.fixture
def sessions(pinot: PinotCluster, ingestion_table: IngestionTable) -> Iterator[SessionStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield SessionStore(store, ingestion_table.with_type)


def test_the_open_entry_of_a_killed_run_is_reverted(
    ingestion_table: IngestionTable, sessions: SessionStore, shared_folder: Path, full: bool
) -> None:
    table = ingestion_table.create(replication=2).register(shared_folder, "csv", desiredSegmentSize="1")
    rows = 0
    for name, revert in [("first", _by_the_doctor), ("second", _by_the_call)][: 2 if full else 1]:
        for n in range(FILES):
            write_numbers(shared_folder, f"{name}-{n}.csv", rows + n * ROWS, ROWS)
        _revert_in_the_switch(table, sessions, revert, rows)
        rows += FILES * ROWS
    assert table.run().report["outcome"] == "nothing_new"


def _revert_in_the_switch(
    table: IngestionTable,
    sessions: SessionStore,
    revert: Callable[[IngestionTable, LineageEntry], None],
    old: int,
) -> None:
    new = old + FILES * ROWS
    segments = len(table.segments())

    def open_entries() -> list[LineageEntry]:
        return [e for e in table.client.lineage.list(table.with_type) if e.state is LineageState.IN_PROGRESS]

    def half_pushed() -> bool:
        return bool(open_entries()) and len(table.segments()) > segments + FILES // 2

    with table.polled() as reader:
        kill_when(table.start(), half_pushed, "the entry is open with half of the segments pushed")
        interrupted = sessions.latest()
        (entry,) = open_entries()
        revert(table, entry)
        reader.poll_until(reader.polls + 50)
        report = table.run().report
        reader.poll_until(reader.polls + 50)
    assert interrupted is not None
    assert interrupted.state is SessionState.SWITCH
    assert report["outcome"] == "switched"
    assert report["session"] != interrupted.session_id
    assert (report["files"], report["rows"]) == (FILES, new - old)
    assert sessions.load(interrupted.session_id).abandoned
    # The answer for a table without visible segments has no rows.
    assert [row[0] if row else 0 for row in reader.seen] == [old, new]
    assert (reader.errors, reader.partials) == ([], [])
    assert table.value("select sum(id) from {t}") == sum(range(new))


def test_the_table_is_dropped_and_recreated(
    ingestion_table: IngestionTable, sessions: SessionStore, shared_folder: Path
) -> None:
    old = write_numbers(shared_folder, "old.csv", 0, ROWS)
    table = ingestion_table.create().register(shared_folder, "csv")

    def in_the_switch() -> bool:
        session = sessions.latest()
        return session is not None and session.state is SessionState.SWITCH

    kill_when(table.start(), in_the_switch, "state SWITCH")
    table.client.tables.delete(table.with_type)
    wait_for(lambda: not table.client.tables.exists(table.with_type), "the table to be gone")
    table.client.schemas.delete(table.name)
    old.unlink()
    write_numbers(shared_folder, "new.csv", 10_000, ROWS)
    create_again(table.client, table.with_type, table.create)
    table.register(shared_folder, "csv")
    report = table.run().report
    assert (report["outcome"], report["files"]) == ("switched", 1)
    assert (table.count(), table.value("select min(id) from {t}")) == (ROWS, 10_000)
