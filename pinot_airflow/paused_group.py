"""A group of tasks during which a realtime table is paused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
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
    retry_delay: timedelta = timedelta(seconds=10),
    **kwargs: Any,
) -> Iterator[TaskGroup]:
    """Pause a realtime table before the tasks that are created in the block, and resume it after them.

    ::

        with pinot_paused("flights", group_id="migration", reason="migration"):
            rewrite() >> check()

    The group adds three tasks to those of the block: the setups ``begin`` and ``pause``, and the teardown
    ``resume``. Airflow runs a teardown when the tasks before it have ended, whatever their result, provided
    that at least one of its setups succeeded. ``begin`` always succeeds, since no worker runs it. So the
    table is resumed even if the worker of ``pause`` or of a task in the block was killed. Clearing a task of
    the block also clears the setups and the teardown.

    Args:
        table: With or without ``_REALTIME``; may be a template.
        group_id: Name of the group, and of the pause.
        reason: The reason, shown to anyone who finds the table paused.
        timeout_s: Maximum seconds for the pause, and for the resume.
        retries: Number of retries of pause and resume.
        retry_delay: Time before each retry, in which the table may be paused for nothing; Airflow's own
            default is five minutes.
        kwargs: Arguments of both operators, e.g. ``pinot_conn_id``.
    """
    tries = {"retries": retries, "retry_delay": retry_delay}
    shared = {"table": table, "pause_name": group_id, "timeout_s": timeout_s, **tries, **kwargs}
    with TaskGroup(group_id=group_id) as group:
        begin = EmptyOperator(task_id="begin").as_setup()
        pause = PinotPauseOperator(task_id="pause", reason=reason, **shared).as_setup()
        resume = PinotResumeOperator(task_id="resume", **shared).as_teardown(setups=[begin, pause])
        begin >> pause
        with resume:
            yield group
