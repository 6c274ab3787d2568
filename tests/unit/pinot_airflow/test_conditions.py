"""Conditions as passed to the triggerer, times, and names; without Airflow."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jinja2
import pytest

from controller_client.common.names import TableName
from controller_client.errors import (
    ConfigError,
    NotFoundError,
    PartialResultError,
    QueryError,
    UnreachableError,
)
from controller_client.upsert.low_water_mark import TableMark
from controller_client.upsert.record import ServerRecord
from pinot_airflow.conditions.base import Condition, is_passing
from pinot_airflow.conditions.consumption import OffsetsAreRead, TableIsPaused
from pinot_airflow.conditions.data import DataReaches
from pinot_airflow.conditions.ingestion import SubtasksAreOver
from pinot_airflow.conditions.upsert import MarkReaches
from pinot_airflow.conditions.writes import WriteIsPublished
from pinot_airflow.names import task_name, try_name, write_id
from pinot_airflow.times import epoch_ms


@pytest.mark.parametrize(
    "condition",
    [
        DataReaches("t", 7, "day"),
        MarkReaches("t", version=3),
        OffsetsAreRead("t", {"0": 5, "11": 9}),
        SubtasksAreOver("t", "s", stop_on_kill=True),
        TableIsPaused("t", "me"),
        WriteIsPublished("t", "w"),
    ],
)
def test_a_condition_survives_the_triggerers_database(condition: Condition) -> None:
    assert Condition.from_json(json.loads(json.dumps(condition.to_json()))) == condition


@pytest.mark.parametrize(
    "named", ["os:system", "pinot_airflow.access:PinotAccess", "pinot_airflow.conditions.base:x"]
)
def test_other_classes_are_rejected(named: str) -> None:
    with pytest.raises(ConfigError, match="is not a condition"):
        Condition.from_json({"condition": named, "fields": {}})


def test_which_errors_are_temporary() -> None:
    unknown = QueryError("there is no such table")
    unknown.codes = frozenset({190})
    assert all(map(is_passing, (UnreachableError("x"), PartialResultError("x"), unknown)))
    assert not any(map(is_passing, (NotFoundError("x"), ConfigError("x"), QueryError("x"))))


def test_times_need_a_time_zone() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert epoch_ms("2026-01-01T13:00:00+01:00", "until") == epoch_ms(noon, "until") == 1_767_268_800_000
    for wrong in ("2026-01-01", "soon"):
        with pytest.raises(ConfigError, match="until is"):
            epoch_ms(wrong, "until")


class Task:
    dag_id, run_id, task_id, try_number = "d", "manual__2026", "g.t", 2

    def __init__(self, map_index: int | None) -> None:
        self.map_index = map_index


@pytest.mark.parametrize(("index", "end"), [(-1, ""), (None, ""), (0, "/0"), (12, "/12")])
def test_a_write_id_is_the_name_of_its_task(index: int | None, end: str) -> None:
    task = Task(index)
    context: dict[str, Any] = {"ti": task}
    assert task_name(context) == f"airflow/d/manual__2026/g.t{end}"
    assert try_name(context, "quiet") == f"airflow/d/manual__2026/quiet{end}#2"
    for template in (write_id(), write_id("g.t")):
        assert jinja2.Template(template).render(ti=task) == task_name(context)  # no HTML


def test_the_mark_is_that_of_the_slowest_server() -> None:
    table = TableName("t_REALTIME")
    fast, slow = ServerRecord("A", "s", 9, 900, created=1), ServerRecord("B", "s", 7, 700, created=1)
    mark = TableMark(table, None, {"A": fast, "B": slow})
    reached = {
        (version, at_ms): MarkReaches("t", version, at_ms).judge(mark).done
        for version in (7, 8, None)
        for at_ms in (700, 701, None)
    }
    assert {each for each, done in reached.items() if done} == {
        (7, 700),
        (7, None),
        (None, 700),
        (None, None),
    }
    silent = MarkReaches("t", 0).judge(TableMark(table, None, {"A": fast, "B": None}))
    assert (silent.done, "B has not reported" in silent.text) == (False, True)
