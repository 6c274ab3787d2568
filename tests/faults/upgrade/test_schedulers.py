"""Schedulers of both releases in one queue: an upgrade, and a rollback by the steps of docs/upgrades.md."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.run.fired import FIRED_FORMAT, fired_path
from minion_tasks.file_ingestion.session.records import SESSION_FORMAT
from tests.faults.takeover.place import Several, standing
from tests.faults.upgrade.place import Sessions, delete_znode, pinotctl, refusal, znodes
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.support.cluster import PinotCluster
from tests.support.releases import THIS, Release
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [FULL, pytest.mark.cluster]

ROWS = 10


def in_line(release: Release, pinot: PinotCluster) -> list[tuple[str, int | None]]:
    """State and process id of each process in the queue for the schedulers' lease, as a release shows it."""
    ran = pinotctl(release, pinot, "leases", "list", "--output", "json")
    assert ran.code == 0, ran
    return [(row["state"], row["pid"]) for row in json.loads(ran.out) if row["name"] == "scheduler"]


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process as a supervisor does; the active run is completed first."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(300) == 0


def test_upgrade_and_roll_back(
    pinot: PinotCluster,
    store: PropertyStore,
    later: Release,
    later_minions: str,
    schedulers: Several,
    ingestion_table: IngestionTable,
    shared_folder: Path,
) -> None:
    table = ingestion_table.create()
    sessions = Sessions(table, pinot, store)
    trigger = fired_path(table.with_type)
    now, following = str(SESSION_FORMAT.version), str(SESSION_FORMAT.version + 1)

    def put(number: int) -> None:
        write_numbers(shared_folder, f"{number}.csv", number * ROWS, ROWS)

    def wait_ended(files: int, version: str) -> None:
        """Wait until all rows are visible and the session that ingested the last ones is done."""
        wait_for(lambda: table.count() == files * ROWS, f"the rows of {files} files")
        wait_for(lambda: sessions.last()["state"] == "DONE", "the end of the session")
        assert table.value("select sum(id) from {t}") == sum(range(files * ROWS))
        assert sessions.last()["format"] == version
        assert {fields["format"] for fields in sessions.files()} == {version}

    put(0)
    table.register(
        shared_folder, "csv", schedule="* * * * * ?", minionInstanceTag=later_minions, minionWait="10m"
    )
    old = schedulers.start()
    wait_ended(1, now)  # by a minion that has already been upgraded

    new = schedulers.start(later)
    schedulers.wait_logged(new, f"this scheduler stands by: {standing(store, 'scheduler')[0].holder}")
    assert in_line(later, pinot) == [("holds", old.pid), ("stands_by", new.pid)]
    assert in_line(THIS, pinot) == [("holds", old.pid), ("stands_by", None)]
    stop(old)
    schedulers.wait_logged(new, "this scheduler takes over")
    put(1)
    wait_ended(2, following)

    back = schedulers.start()
    schedulers.wait_logged(back, "this scheduler stands by: a process of a later release holds the lease")
    stop(new)
    schedulers.wait_logged(back, "this scheduler takes over")
    put(2)
    left = znodes(store, f"/MINION_TASK_METADATA/{table.with_type}")
    refused = refusal(FIRED_FORMAT, trigger)
    schedulers.wait_logged(back, refused)
    wait_for(lambda: schedulers.log(back).count("triggered by its schedule") >= 3, "more triggers")
    assert schedulers.log(back).count(refused) == 1
    assert znodes(store, f"/MINION_TASK_METADATA/{table.with_type}") == left

    cleared = pinotctl(later, pinot, "task", "session", "clear", table.name, "--yes")
    assert cleared.code == 0, cleared
    delete_znode(pinot, trigger)
    wait_ended(3, now)
    stop(back)
