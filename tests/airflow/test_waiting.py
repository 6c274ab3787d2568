"""Sensors in a real Airflow, and the DAG of docs/airflow.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.environment import AirflowEnvironment
from tests.airflow.service import Airflow
from tests.docs.blocks import read_blocks
from tests.integration.consumption.conftest import MakeTable
from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.support.program import result_of
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_PAGE = Path(__file__).parents[2] / "docs" / "airflow.md"
_SCHEMA: dict[str, Any] = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}],
    "dateTimeFieldSpecs": [
        {"name": "at", "dataType": "LONG", "format": "1:SECONDS:EPOCH", "granularity": "1:SECONDS"},
        {
            "name": "day",
            "dataType": "STRING",
            "format": "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd",
            "granularity": "1:DAYS",
        },
    ],
}
_NOON = 1_794_312_000  # 2026-11-10T12:00:00Z


def create(table: IngestionTable, folder: Path) -> None:
    """Create an empty table with two time columns, and its source."""
    segments = {"replication": "1", "schemaName": table.name, "timeColumnName": "at"}
    table.create(_SCHEMA, segmentsConfig={**segments, "segmentPushType": "APPEND"})
    table.register(folder, "csv")
    (folder / "a.csv").write_text(f"id,at,day\n1,{_NOON},2026-11-10\n2,{_NOON - 9},2026-11-09\n")


def test_sensors_wait_until_their_condition_is_met(
    airflow: Airflow, make_stream_table: MakeTable, ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    stream = make_stream_table(partitions=2)
    stream.produce(10)
    create(ingestion_table, shared_folder)
    table = ingestion_table.name
    run = airflow.run("sensors", table=table, stream=stream.name, until="2026-11-10T00:00:00+00:00")
    run.wait_for_task("data", "deferred")
    run.wait_for_task("data_in_worker", "up_for_reschedule")
    assert ingestion_table.run().report["rows"] == 2
    # Other segments in the table are not the write.
    run.wait_for_task("data", "success")
    run.wait_for_task("names", "success")
    assert run.task("written")["state"] == "deferred"
    write = {
        "writeId": run.returned("names")[0],
        "table": table,
        "controller": ingestion_table.controller_url,
    }
    result_of("tests.airflow.write_program", write)
    assert run.wait() == "success"
    assert run.returned("written") == {"table": f"{table}_OFFLINE", "write_id": write["writeId"]}
    for task_id in ("data", "data_in_worker"):
        assert run.returned(task_id) == {"table": table, "at_ms": _NOON * 1000}
    assert run.returned("day") == {"table": table, "at_ms": (_NOON - 12 * 3600) * 1000}
    assert run.returned("read") == {"table": stream.table, "offsets": {"0": 10, "1": 10}}
    begin = f"airflow/sensors/{run.run_id}"
    assert run.returned("names") == [f"{begin}/names", f"{begin}/data"]
    assert f"{table} has no row" in run.logs("data")


@FULL  # Starts servers with versions for this test only.
def test_upsert_sensors_wait_until_the_mark_is_reached(
    airflow: Airflow, make_upsert_table: MakeUpsertTable
) -> None:
    table = make_upsert_table()
    table.produce(0, ["a", "b"])
    table.wait_mark(table.model.coordinate())
    # Versions of the model are a second apart.
    run = airflow.run("upsert", table=table.name, version="1", at="1970-01-01T00:00:01+00:00")
    run.wait_for_task("version", "deferred")
    run.wait_for_task("at", "up_for_reschedule")
    table.produce(1, ["a"])
    assert table.model.coordinate() == 1
    assert run.wait() == "success"
    for task_id in ("version", "at"):
        assert run.returned(task_id) == {"table": table.full_name, "version": 1, "at_ms": 1000}
        assert f"{table.full_name} is at version 0" in run.logs(task_id)


def test_the_dag_of_the_page_runs(
    airflow: Airflow, make_stream_table: MakeTable, ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    (dag,) = (each for each in read_blocks(_PAGE.read_text(encoding="utf-8")) if "file" in each.marks)
    clicks = make_stream_table(partitions=1)
    create(ingestion_table, shared_folder)
    text = dag.text.replace('"flights"', f'"{ingestion_table.name}"').replace('"clicks"', f'"{clicks.name}"')
    text = re.sub(r"FROM flights\b", f"FROM {ingestion_table.name}", text)
    # Otherwise Airflow would start its own run.
    text = text.replace('schedule="@daily"', "schedule=None")
    (airflow.dags / "flights.py").write_text(text)
    run = airflow.run("flights_of_a_day", logical_date="2026-11-10T00:00:00Z")
    assert run.wait() == "success"
    assert set(run.states().values()) == {"success"}
    assert run.returned("count") == 2
    assert run.returned("quiet.resume")["resumed"] is True


def test_airflow_finds_the_package(airflow: Airflow, airflow_environment: AirflowEnvironment) -> None:
    tried = airflow_environment.run(airflow.variables, "python", "-c", _IMPORTS)
    assert tried.splitlines()[-1].split() == ["pinot_airflow.hook.PinotHook", "True"]


_IMPORTS = """
import importlib, pkgutil
import pinot_airflow
for module in pkgutil.walk_packages(pinot_airflow.__path__, "pinot_airflow."):
    importlib.import_module(module.name)
for name in pinot_airflow.__all__:
    getattr(pinot_airflow, name)
from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime
hook = ProvidersManagerTaskRuntime().hooks["pinot_plugins"].hook_class_name
print(hook, pinot_airflow.PinotHook().test_connection()[0])
"""
