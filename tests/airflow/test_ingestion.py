"""A run of FileIngestionTask in a task of a real Airflow: waited for, killed, cleared."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.airflow.service import Airflow, DagRun
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.integration.file_ingestion.scenes.source import Source
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster]


# The latter where Airflow itself has taken a try for lost.
_ENDS = {"switched", "done_before"}


def begin(airflow: Airflow, table: IngestionTable, dies: str = "") -> DagRun:
    return airflow.run("ingest", table=table.name, dies=dies)


def assert_serves(table: IngestionTable, rows: int) -> None:
    """Ids from 0 on, each once."""
    wanted = (rows, rows * (rows - 1) / 2)
    sql = f"select count(*), sum(id) from {table.name}"
    wait_for(lambda: tuple(table.broker.query(sql).rows[0]) == wanted, f"{wanted} of {table.name}")


def test_a_run_that_waits_in_the_triggerer_is_found_again_when_it_is_cleared(
    airflow: Airflow, store: PropertyStore, ingestion_table: IngestionTable, source: Source
) -> None:
    access = source.proxy.access
    table = ingestion_table.create().register(
        source.uri,
        "csv",
        input__fs__prop__region=access.region,
        input__fs__prop__endpoint=access.endpoint,
        input__fs__prop__accessKey=access.access_key,
        input__fs__prop__secretKey=access.secret_key,
    )
    source.put_text("F1", "id,word,amount\n" + "".join(f"{n},w,1\n" for n in range(300)))
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
    assert returned["retry_count"] == 0, "with no retries of its own, it was the same run all along"
    assert f"session {session} is IN_PROGRESS" in run.logs("ingest")
    assert access.secret_key not in airflow.log_text()
    assert_serves(table, 300)

    # Cleared after its end, it looks at the source again.
    tries = run.task("ingest")["try_number"]
    run.clear("ingest")
    wait_for(lambda: run.task("ingest")["try_number"] > tries, "another try")
    assert run.wait() == "success"
    assert run.returned("ingest") == {**returned, "outcome": "done_before", "replaced": 0}
    assert sessions.ids() == [session]
    assert_serves(table, 300)


@pytest.mark.parametrize(("dies", "outcomes"), [("begun", _ENDS), ("ended", {"done_before"})])
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
