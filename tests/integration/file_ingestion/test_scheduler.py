"""``pinotctl scheduler`` as a separate process: it runs due tasks, and stops on request."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.integration.file_ingestion.ingestion import (
    IngestionTable,
    ended,
    start_pinotctl,
    write_numbers,
)
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture
def scheduler(pinot: PinotCluster) -> Iterator[subprocess.Popen[str]]:
    process = start_pinotctl(pinot.controller_url, "scheduler", "--refresh", "1")
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_files_become_queryable_by_schedule(
    pinot: PinotCluster,
    scheduler: subprocess.Popen[str],
    ingestion_table: IngestionTable,
    shared_folder: Path,
) -> None:
    table = ingestion_table.create()
    write_numbers(shared_folder, "first.csv", 0, 10)
    table.register(shared_folder, "csv", schedule="0/2 * * * * ?")
    wait_for(lambda: table.count() == 10, "the rows of the first file", timeout_s=300)
    write_numbers(shared_folder, "second.csv", 10, 10)
    wait_for(lambda: table.count() == 20, "the rows of the second file", timeout_s=300)

    # If stopped in the middle of a run, it finishes the run first.
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        sessions = SessionStore(store, table.with_type)

        def in_a_run() -> bool:
            session = sessions.latest()
            return session is not None and session.is_open

        # Queries see the rows before their session ends.
        wait_for(lambda: not in_a_run(), "the end of the run of the second file", timeout_s=300)
        write_numbers(shared_folder, "third.csv", 20, 20_000)
        wait_for(in_a_run, "a run of the third file", timeout_s=300, interval_s=0.01)
        scheduler.send_signal(signal.SIGTERM)
        ran = ended(scheduler, timeout_s=300)
        last = sessions.latest()
    assert ran.code == 0, ran.err
    assert last is not None
    assert last.state is SessionState.DONE
    assert f"{table.with_type}: switched, 1 files, 20000 rows" in ran.err
    assert table.count() == 20_020
    assert table.value("select sum(id) from {t}") == sum(range(20_020))
    # It was the leader of its process group, of which nothing is left.
    with pytest.raises(ProcessLookupError):
        os.killpg(scheduler.pid, 0)


def test_an_invalid_schedule_is_rejected_at_registration(
    ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    table = ingestion_table.create()
    settings = {
        "inputDirURI": str(shared_folder),
        "inputFormat": "csv",
        "consistentPushEnabled": "true",
        "schedule": "*/5 * * * *",
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    ran = ended(start_pinotctl(table.controller_url, "task", "register", table.name, *words))
    assert ran.code == 2, ran
    assert "*/5 * * * *" in ran.err
    assert "seconds minutes hours" in ran.err
    assert table.client.tables.task_config(table.with_type, "FileIngestionTask") is None
