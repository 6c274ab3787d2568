"""Minions of one release and runs of the other: why minions are upgraded first, and when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.engine.subtask import SUBTASK_FORMAT
from tests.faults.upgrade.place import Sessions, pinotctl, refusal
from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, write_numbers
from tests.support.cluster import PinotCluster
from tests.support.releases import THIS, Release, make_later
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster]


@pytest.fixture
def table(ingestion_table: IngestionTable, shared_folder: Path) -> IngestionTable:
    """A table with a file to ingest, with minions of this release."""
    write_numbers(shared_folder, "a.csv", 0, 10)
    return ingestion_table.create().register(shared_folder, "csv", consistentPushMaxRetries="1")


def run(release: Release, pinot: PinotCluster, table: IngestionTable) -> Ran:
    return pinotctl(release, pinot, "task", "run", table.name, "--output", "json")


def test_a_minion_rejects_subtasks_of_a_later_release_until_it_is_upgraded(
    pinot: PinotCluster,
    store: PropertyStore,
    later: Release,
    later_minions: str,
    table: IngestionTable,
    shared_folder: Path,
) -> None:
    sessions = Sessions(table, pinot, store)
    refused = run(later, pinot, table)
    (session,) = sessions.ids()
    assert (refused.code, refused.out) == (1, "")
    assert (
        f"{shared_folder / 'a.csv'}: its subtask ended without a result (TASK_ABORTED on Minion_"
        in refused.err
    )
    assert refusal(SUBTASK_FORMAT, f"session {session} of {table.with_type}") in refused.err
    assert (sessions.last()["state"], sessions.statuses()) == ("IN_PROGRESS", ["pending"])
    assert table.segments() == []

    upgraded = {"minionInstanceTag": later_minions, "minionWait": "10m"}
    table.register(shared_folder, "csv", consistentPushMaxRetries="1", **upgraded)
    report = run(later, pinot, table).report
    assert (report["outcome"], report["session"], report["retry_count"]) == ("switched", session, 1)
    table.wait_count(10)
    assert table.value("select sum(id) from {t}") == sum(range(10))


def test_a_release_without_new_formats_can_be_installed_and_rolled_back_in_any_order(
    pinot: PinotCluster, table: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    other = make_later(tmp_path / "other")
    assert run(other, pinot, table).report["outcome"] == "switched"
    assert run(THIS, pinot, table).report["outcome"] == "nothing_new"
    write_numbers(shared_folder, "b.csv", 10, 10)
    assert run(THIS, pinot, table).report["outcome"] == "switched"
    assert run(other, pinot, table).report["outcome"] == "nothing_new"
    table.wait_count(20)
    assert table.value("select sum(id) from {t}") == sum(range(20))
