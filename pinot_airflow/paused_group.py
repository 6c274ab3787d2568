"""A group of tasks while which a realtime table is paused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pinot_airflow.airflow_api import EmptyOperator, TaskGroup
from pinot_airflow.pausing import PinotPauseOperator, PinotResumeOperator

__all__ = ["pinot_paused"]


@contextmanager
def pinot_paused(
    table: str,
    *,
    group_id: str = "paused",
    reason: str | None = None,
    timeout_s: float = 600.0,
    retries: int = 3,
    **kwargs: Any,
) -> Iterator[TaskGroup]:
    """Pause a realtime table before the tasks that are made in the block, and resume it after them.

    ::

        with pinot_paused("flights", group_id="migration", reason="migration"):
            rewrite() >> check()

    The group has three tasks beside those of the block: ``hold`` and ``pause``, which are its setups, and the
    teardown ``resume``. Airflow runs a teardown when the tasks before it are over, whatever came of them, and
    at least one of its setups succeeded: ``hold`` always does, as nothing runs for it. So the table is
    resumed also when the worker of ``pause``, or that of a task of the block, was killed. Who clears a task
    of the block clears setups and teardown with it.

    Args:
        table: With or without ``_REALTIME``; may be a template.
        group_id: Names the group, and the pause.
        reason: Why, for those who see the table paused.
        timeout_s: Seconds for the pause, and for the resume.
        retries: How often pause and resume are tried again.
        kwargs: Of both operators, e.g. ``pinot_conn_id``.
    """
    shared = {"table": table, "hold": group_id, "timeout_s": timeout_s, "retries": retries, **kwargs}
    with TaskGroup(group_id=group_id) as group:
        hold = EmptyOperator(task_id="hold").as_setup()
        pause = PinotPauseOperator(task_id="pause", reason=reason, **shared).as_setup()
        resume = PinotResumeOperator(task_id="resume", **shared).as_teardown(setups=[hold, pause])
        hold >> pause
        with resume:
            yield group
