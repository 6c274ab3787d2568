"""Runs of FileIngestionTask in tasks of a real Airflow: waiting, killed, cleared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from controller_client.client import ControllerClient
from controller_client.errors import NotFoundError
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.model import Session
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.airflow.service import Airflow, DagRun
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.integration.file_ingestion.scenes.source import Source
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster]


# The latter if Airflow itself considered a try lost.
_ENDS = {"switched", "done_before"}


def begin(airflow: Airflow, table: IngestionTable, dies: str = "") -> DagRun:
    return airflow.run("ingest", table=table.name, dies=dies)


def register(table: IngestionTable, source: Source, **more: str) -> IngestionTable:
    return table.register(source.uri, "csv", **source.proxy.access.task_parameters, **more)


def put_numbers(source: Source) -> None:
    source.put_text("F1", "id,word,amount\n" + "".join(f"{n},w,1\n" for n in range(300)))


def submitted(sessions: SessionStore, retry: int = 0) -> Session:
    """Wait until the subtasks of a table's session are submitted, first or again; return the session."""

    def found() -> Session | None:
        latest = sessions.latest()
        there = latest is not None and latest.task_name is not None and latest.retry_count == retry
        return latest if there else None

    session = wait_for(found, f"subtasks of {sessions.table}")
    assert session is not None
    return session


def has_logged(run: DagRun, task_id: str, text: str) -> bool:
    return text in run.logs(task_id)


def is_gone(client: ControllerClient, task_name: str | None) -> bool:
    try:
        client.tasks.state(task_name or "")
    except NotFoundError:
        return True
    return False


def assert_serves(table: IngestionTable, rows: int) -> None:
    """Check that queries see the ids from 0, each once."""
    wanted = (rows, rows * (rows - 1) / 2)
    sql = f"select count(*), sum(id) from {table.name}"
    wait_for(lambda: tuple(table.broker.query(sql).rows[0]) == wanted, f"{wanted} of {table.name}")


def test_a_run_waiting_in_the_triggerer_is_found_again_after_clearing_the_task(
    airflow: Airflow, store: PropertyStore, ingestion_table: IngestionTable, source: Source
) -> None:
    table = register(ingestion_table.create(), source)
    put_numbers(source)
    held = source.proxy.hold("GET", source.of("F1"))
    sessions = SessionStore(store, table.with_type)
    run = begin(airflow, table)
    held.wait_hit()
    run.wait_for_task("ingest", "deferred")
    (session,) = sessions.ids()
    run.clear("ingest")
    wait_for(lambda: run.task("ingest")["try_number"] > 1, "the second try")
    run.wait_for_task("ingest", "deferred")
    assert sessions.ids() == [session]
    held.lift()
    assert run.wait() == "success"
    returned = run.returned("ingest")
    assert returned["outcome"] in _ENDS
    assert (returned["rows"], returned["session"]) == (300, session)
    assert returned["retry_count"] == 0, "the same run throughout, without own retries"
    assert f"session {session} is IN_PROGRESS" in run.logs("ingest")
    assert source.proxy.access.secret_key not in airflow.log_text()
    assert_serves(table, 300)

    # Cleared after its end, the task checks the source again.
    tries = run.task("ingest")["try_number"]
    run.clear("ingest")
    wait_for(lambda: run.task("ingest")["try_number"] > tries, "another try")
    assert run.wait() == "success"
    assert run.returned("ingest") == {**returned, "outcome": "done_before", "replaced": 0}
    assert sessions.ids() == [session]
    assert_serves(table, 300)


@pytest.fixture
def tables_by_task(ingestion_table: IngestionTable) -> dict[str, IngestionTable]:
    """A table for each task of ``ingest_stopped``, dropped with the one whose name theirs begin with."""
    return {
        task_id: replace(ingestion_table, name=f"{ingestion_table.name}_{task_id}")
        for task_id in ("waits", "works", "begins")
    }


def test_a_run_stopped_by_a_user_is_cancelled_and_can_be_resumed(
    airflow: Airflow, store: PropertyStore, tables_by_task: dict[str, IngestionTable], source: Source
) -> None:
    sessions = {}
    for task_id, table in tables_by_task.items():
        register(table.create(), source, consistentPushMaxRetries="1")
        sessions[task_id] = SessionStore(store, table.with_type)
    put_numbers(source)
    # Submitted subtasks do not end by themselves.
    held = source.proxy.hold("GET", source.of("F1"), times=None)
    run = airflow.run("ingest_stopped", table=tables_by_task["waits"].name.removesuffix("_waits"))
    begun = {task_id: submitted(each) for task_id, each in sessions.items()}
    # Airflow does not notify a trigger that the triggerer has not started yet.
    for task_id in ("waits", "works"):
        wait_for(partial(has_logged, run, task_id, "is IN_PROGRESS"), f"a check by {task_id}")
    run.fail("waits")
    run.fail("works")
    assert run.wait() == "failed"
    for task_id, table in tables_by_task.items():
        session = begun[task_id]
        wait_for(partial(is_gone, table.client, session.task_name), f"the end of {session.task_name}", 60)
        assert sessions[task_id].load(session.session_id) == session
        assert table.segments() == []
        if task_id != "waits":
            ended = partial(has_logged, run, task_id, "the task was stopped from outside")
            wait_for(ended, f"the log of {task_id}")

    # One of them represents all: their sessions are in the same state.
    run.clear("works")
    submitted(sessions["works"], retry=1)
    held.lift()
    run.wait_for_task("works", "success")
    returned = run.returned("works")
    assert (returned["session"], returned["retry_count"]) == (begun["works"].session_id, 1)
    assert_serves(tables_by_task["works"], 300)


@pytest.mark.parametrize(
    ("dies", "outcomes"), [("begun", _ENDS), pytest.param("ended", {"done_before"}, marks=FULL)]
)
def test_a_killed_worker_costs_a_try_and_no_row(
    airflow: Airflow,
    store: PropertyStore,
    ingestion_table: IngestionTable,
    shared_folder: Path,
    dies: str,
    outcomes: set[str],
) -> None:
    table = ingestion_table.create().register(shared_folder, "csv")
    for number in range(3):
        write_numbers(shared_folder, f"{number}.csv", number * 100, 100)
    run = begin(airflow, table, dies)
    assert run.wait() == "success"
    returned = run.returned("ingest")
    assert run.task("ingest")["try_number"] >= 2
    assert returned["outcome"] in outcomes
    assert (returned["rows"], returned["files"]) == (300, 3)
    assert SessionStore(store, table.with_type).ids() == [returned["session"]]
    assert_serves(table, 300)


def test_a_table_is_rolled_back(
    airflow: Airflow, ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    table = ingestion_table.create().register(shared_folder, "csv", keepVersions="2")
    write_numbers(shared_folder, "0.csv", 0, 100)
    first = table.run().report["session"]
    write_numbers(shared_folder, "1.csv", 100, 100)
    table.run()
    assert_serves(table, 200)
    run = airflow.run("roll_back", table=table.name, version=first)
    assert run.wait() == "success"
    assert run.returned("roll_back")["outcome"] == "rolled_back"
    assert_serves(table, 100)
    tries = run.task("roll_back")["try_number"]
    run.clear("roll_back")
    wait_for(lambda: run.task("roll_back")["try_number"] > tries, "another try")
    assert run.wait() == "success"
    assert run.returned("roll_back")["outcome"] == "done_before"
