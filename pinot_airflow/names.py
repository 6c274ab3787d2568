"""Names that are the same for each try of a task and differ between DAG runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinot_airflow.airflow_api import Context

__all__ = ["task_name", "try_name", "write_id"]

_MAP_INDEX = "{% if ti.map_index is not none and ti.map_index >= 0 %}/{{ ti.map_index }}{% endif %}"


def task_name(context: Context, of: str | None = None) -> str:
    """Return a name for a task's work: ``airflow/<dag>/<run>/<task>``, plus the map index of a mapped task.

    Args:
        context: The task's context.
        of: Used instead of the task's id.
    """
    task = context["ti"]
    index = task.map_index
    mapped = f"/{index}" if index is not None and index >= 0 else ""
    return f"airflow/{task.dag_id}/{task.run_id}/{of or task.task_id}{mapped}"


def try_name(context: Context, of: str | None = None) -> str:
    """Return a name for one try: the task's name, ``#`` and the number of the try."""
    return f"{task_name(context, of)}#{context['ti'].try_number}"


def write_id(task_id: str | None = None) -> str:
    """Return a template that Airflow renders to the ``writeId`` of a task's Spark write.

    ::

        SparkSubmitOperator(task_id="write", application_args=["--write-id", write_id()], ...)
        PinotWriteSensor(task_id="written", table="flights", write_id=write_id("write"))

    It is the same for all tries of the task in a DAG run, so that a retry does not repeat a published write.
    It differs between DAG runs.

    Args:
        task_id: The task that writes, including the ids of its groups; default: the task whose field is
            rendered.
    """
    task = task_id or "{{ ti.task_id }}"
    return f"airflow/{{{{ ti.dag_id }}}}/{{{{ ti.run_id }}}}/{task}{_MAP_INDEX}"
