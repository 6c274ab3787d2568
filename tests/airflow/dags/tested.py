"""The DAGs of the tests, read by the scheduler of a real Airflow."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock
from urllib.parse import quote

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from controller_client.as_code import Step
from controller_client.consumption import TableState
from pinot_airflow import (
    PinotApplyOperator,
    PinotDataSensor,
    PinotFileIngestionOperator,
    PinotHook,
    PinotOffsetsSensor,
    PinotPauseOperator,
    PinotRollbackOperator,
    PinotUpsertSensor,
    PinotWriteSensor,
    pinot_paused,
    write_id,
)

# Under load, Airflow's scheduler mistakes the end of a task's first part for that of its second and fails it.
AT_ONCE: dict[str, Any] = {"retry_delay": timedelta(seconds=1), "retries": 5}


def die() -> None:
    """Kill this process, as the kernel does when memory is exhausted."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(run_id: str) -> None:
    """Like :func:`die`, once per run; not based on the number of the try, since a try may be lost."""
    marker = Path(os.environ["AIRFLOW_HOME"]) / f"died-{quote(run_id, safe='')}"
    with suppress(FileExistsError):
        marker.touch(exist_ok=False)
        die()


class DyingIngestion(PinotFileIngestionOperator):
    """Its process is killed once: after it has ``begun`` the run, or after it has ``ended`` the run."""

    template_fields: ClassVar[Any] = (*PinotFileIngestionOperator.template_fields, "dies")

    def __init__(self, *, dies: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dies = dies
        self.run_id = ""

    def execute(self, context: Mapping[str, Any]) -> Any:
        self.run_id = context["run_id"]
        return super().execute(context)

    def defer_until(self, *args: Any, **kwargs: Any) -> None:
        if self.dies == "begun":
            die_once(self.run_id)
        super().defer_until(*args, **kwargs)

    def end(self, context: Mapping[str, Any], event: Mapping[str, Any], session_id: str) -> Any:
        returned = super().end(context, event, session_id)
        if self.dies == "ended":
            die_once(context["run_id"])
        return returned


class TerminatedIngestion(PinotFileIngestionOperator):
    """The process is stopped before it has started the run; the resulting error fails the task."""

    def execute(self, context: Mapping[str, Any]) -> Any:
        try:
            return super().execute(context)
        except AirflowException as error:
            # Without retries, since a busy scheduler may lose a try before it runs.
            raise AirflowFailException(str(error)) from error

    def access(self, context: Mapping[str, Any]) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return super().access(context)


class DyingPause(PinotPauseOperator):
    """Its process is killed once the table is paused."""

    def defer_until(self, *_args: Any, **_kwargs: Any) -> None:
        die()


class DyingApply(PinotApplyOperator):
    """Its process is killed once, at the start of its second step."""

    def execute(self, context: Mapping[str, Any]) -> Any:
        self.run_id = context["run_id"]
        return super().execute(context)

    def began(self, step: Step, number: int, total: int) -> None:
        super().began(step, number, total)
        if number == 2:
            die_once(self.run_id)


def fail_if_paused(table: str) -> None:
    """Raise an error if the table is paused, as it should be."""
    with PinotHook().access() as pinot:
        if pinot.table_control(table).status().state is TableState.PAUSED:
            raise RuntimeError("a task of the block fails")


with DAG("ingest", schedule=None, params={"table": "none", "dies": ""}, default_args=AT_ONCE):
    DyingIngestion(
        task_id="ingest",
        table="{{ params.table }}",
        dies="{{ params.dies }}",
        poll_interval_s=1,
    )

with DAG("roll_back", schedule=None, params={"table": "none", "version": ""}, default_args=AT_ONCE):
    PinotRollbackOperator(task_id="roll_back", table="{{ params.table }}", version="{{ params.version }}")

with DAG(
    "ingest_stopped",
    schedule=None,
    params={"table": "none"},
    default_args={**AT_ONCE, "stop_on_kill": True, "poll_interval_s": 1},
):
    PinotFileIngestionOperator(task_id="waits", table="{{ params.table }}_waits")
    PinotFileIngestionOperator(task_id="works", table="{{ params.table }}_works", deferrable=False)
    TerminatedIngestion(task_id="begins", table="{{ params.table }}_begins")

with (
    DAG("paused", schedule=None, params={"table": "none"}, default_args=AT_ONCE),
    pinot_paused("{{ params.table }}", group_id="quiet", reason="test", retries=5),
):
    PythonOperator(task_id="work", python_callable=fail_if_paused, op_args=["{{ params.table }}"], retries=0)

with (
    DAG("pause_killed", schedule=None, params={"table": "none"}, default_args=AT_ONCE),
    mock.patch("pinot_airflow.paused_group.PinotPauseOperator", DyingPause),
    pinot_paused("{{ params.table }}", group_id="quiet", retries=0),
):
    PythonOperator(task_id="work", python_callable=fail_if_paused, op_args=["{{ params.table }}"], retries=0)

with DAG(
    "sensors", schedule=None, params={"stream": "none", "table": "none", "until": ""}, default_args=AT_ONCE
):
    until: dict[str, Any] = {"table": "{{ params.table }}", "until": "{{ params.until }}", "poke_interval": 1}
    PinotDataSensor(task_id="data", **until)
    PinotDataSensor(task_id="day", column="day", **until)
    PinotDataSensor(task_id="data_in_worker", deferrable=False, mode="reschedule", **until)
    PinotOffsetsSensor(task_id="read", table="{{ params.stream }}", poke_interval=1)
    PythonOperator(
        task_id="names", python_callable=lambda *names: list(names), op_args=[write_id(), write_id("data")]
    )
    PinotWriteSensor(
        task_id="written", table="{{ params.table }}", write_id=write_id("names"), poke_interval=1
    )

with DAG("upsert", schedule=None, params={"table": "none", "version": "", "at": ""}, default_args=AT_ONCE):
    upsert: dict[str, Any] = {"table": "{{ params.table }}", "poke_interval": 1}
    PinotUpsertSensor(task_id="version", version="{{ params.version }}", **upsert)
    PinotUpsertSensor(task_id="at", at="{{ params.at }}", deferrable=False, mode="reschedule", **upsert)

with DAG("apply", schedule=None, params={"folder": "none"}, default_args=AT_ONCE):
    DyingApply(task_id="apply", folder="{{ params.folder }}")
