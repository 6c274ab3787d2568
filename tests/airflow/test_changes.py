"""The cluster as code and pauses, by tasks of a real Airflow."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.as_code import Kind, ObjectRef
from controller_client.as_code.files import FolderSettings, write_folder
from controller_client.consumption import TableState
from controller_client.consumption.state.pause_record import read_record
from tests.airflow.service import Airflow
from tests.integration.as_code.table_files import table_documents
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


def test_a_killed_apply_is_completed_by_the_next_try(
    airflow: Airflow, pinot: PinotCluster, unique_table: str, tmp_path: Path
) -> None:
    config, schema = table_documents(unique_table)
    table = ObjectRef(Kind.TABLE, f"{unique_table}_OFFLINE")
    documents = {ObjectRef(Kind.SCHEMA, unique_table): schema, table: config}
    write_folder(tmp_path, FolderSettings(owner=unique_table), documents)
    run = airflow.run("apply", folder=str(tmp_path))
    assert run.wait() == "success"
    assert f"[2/2] create {table.key}" in run.logs("apply")
    returned = run.returned("apply")
    assert (returned["steps"], returned["done"]) == ([f"create {table.key}"], 1)
    with pinot.client() as client:
        assert client.tables.exists(table.name)
    again = airflow.run("apply", folder=str(tmp_path))
    assert again.wait() == "success"
    assert again.returned("apply")["done"] == 0


def assert_consumes(table: StreamTable) -> None:
    assert table.control().status().state is TableState.CONSUMING
    assert read_record(table.store, table.table) is None


def test_a_table_is_resumed_whatever_the_result_of_the_tasks_in_between(
    airflow: Airflow, make_stream_table: MakeTable
) -> None:
    # Airflow's default, five minutes, would be too long for a table that waits.
    delay = airflow.call("GET", "dags/paused/tasks/quiet.pause")["retry_delay"]
    assert (delay["days"], delay["seconds"]) == (0, 10)
    failing, killed = make_stream_table(partitions=1), make_stream_table(partitions=1)
    runs = airflow.run("paused", table=failing.name), airflow.run("pause_killed", table=killed.name)
    assert [run.wait() for run in runs] == ["failed", "failed"]
    assert runs[0].states() == {
        "quiet.begin": "success",
        "quiet.pause": "success",
        "quiet.work": "failed",
        "quiet.resume": "success",
    }
    assert "a task of the block fails" in runs[0].logs("quiet.work")
    assert runs[0].returned("quiet.resume") == {
        "table": failing.table,
        "was_paused": True,
        "resumed": True,
        "still_paused_by": [],
    }
    assert runs[1].states() == {
        "quiet.begin": "success",
        "quiet.pause": "failed",
        "quiet.work": "upstream_failed",
        "quiet.resume": "success",
    }
    for table in (failing, killed):
        assert_consumes(table)

    # Once more: the task, its setups and its teardown.
    runs[0].clear("quiet.work")
    runs[0].wait_for_task("quiet.work", "running", "failed")
    assert runs[0].wait() == "failed"
    assert runs[0].task("quiet.pause")["try_number"] >= 2
    assert "a task of the block fails" in runs[0].logs("quiet.work").rpartition("attempt=2")[2]
    assert_consumes(failing)
