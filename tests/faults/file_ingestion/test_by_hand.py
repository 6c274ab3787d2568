"""Manual actions between a killed run and the next, which starts from scratch: each row is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.rest.lineage import LineageEntry, LineageState
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.faults.file_ingestion.killing import kill_when
from tests.integration.file_ingestion.ingestion import IngestionTable, invoke, write_numbers
from tests.support.deleting import create_again
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [FULL, pytest.mark.cluster]

FILES, ROWS = 4, 500


@pytest.fixture
def sessions(store: PropertyStore, ingestion_table: IngestionTable) -> SessionStore:
    return SessionStore(store, ingestion_table.with_type)


@pytest.mark.parametrize("way", ["doctor", "call"])
def test_the_open_entry_of_a_killed_run_is_reverted(
    ingestion_table: IngestionTable, sessions: SessionStore, shared_folder: Path, way: str
) -> None:
    table = ingestion_table.create(replication=2).register(shared_folder, "csv", desiredSegmentSize="1")
    for n in range(FILES):
        write_numbers(shared_folder, f"{n}.csv", n * ROWS, ROWS)

    def open_entries() -> list[LineageEntry]:
        return [e for e in table.client.lineage.list(table.with_type) if e.state is LineageState.IN_PROGRESS]

    def half_pushed() -> bool:
        return bool(open_entries()) and len(table.segments()) > FILES // 2

    with table.polled() as reader:
        kill_when(table.start(), half_pushed, "the entry is open with half of the segments pushed")
        interrupted = sessions.latest()
        (entry,) = open_entries()
        if way == "doctor":
            words = ("lineage", "doctor", table.with_type, "--older-than", "0", "--repair", "--yes")
            repaired = invoke(table.controller_url, *words)
            assert repaired.code == 0, repaired
        else:
            table.client.lineage.revert(table.with_type, entry.entry_id, force=True)
        assert open_entries() == []
        reader.poll_until(reader.polls + 20)
        report = table.run().report
        reader.poll_until(reader.polls + 20)
    assert interrupted is not None
    assert interrupted.state is SessionState.SWITCH
    assert report["outcome"] == "switched"
    assert report["session"] != interrupted.session_id
    assert (report["files"], report["rows"]) == (FILES, FILES * ROWS)
    assert sessions.load(interrupted.session_id).abandoned
    # The answer for a table without visible segments has no rows.
    assert [row[0] if row else 0 for row in reader.seen] == [0, FILES * ROWS]
    assert (reader.errors, reader.partials) == ([], [])
    assert table.value("select sum(id) from {t}") == sum(range(FILES * ROWS))
    assert table.run().report["outcome"] == "nothing_new"


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
    table.wait_count(ROWS)
    assert table.value("select min(id) from {t}") == 10_000
