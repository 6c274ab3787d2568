"""The operators of FileIngestionTask: run it, or return to an earlier version of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from minion_tasks.file_ingestion.run.rollback import roll_back
from minion_tasks.file_ingestion.run.stepped import begin_run, end_run, stop_run
from minion_tasks.file_ingestion.run.types import RunOutcome, RunReport
from pinot_airflow.access import PinotAccess
from pinot_airflow.airflow_api import Context
from pinot_airflow.conditions.ingestion import SubtasksAreOver
from pinot_airflow.names import task_name
from pinot_airflow.operator import PinotOperator
from pinot_airflow.run_tools import run_tools

__all__ = ["PinotFileIngestionOperator", "PinotRollbackOperator"]

_COUNTS = ("retry_count", "files", "rows", "segments", "replaced", "bytes_read")


class PinotFileIngestionOperator(PinotOperator):
    """Runs a table's FileIngestionTask: ingests its source, all or nothing.

    The worker starts the run and ends it. Minions do the work, and meanwhile the task waits in the triggerer.
    The run is named after the task in its DAG run. If the worker is killed or the task is cleared, the next
    try finds the run that an earlier one started and continues it. A try after the end of the run checks the
    source again and ingests new files, of which there are usually none.

    A table with the engine ``spark`` is ingested in the worker, from start to end.

    Returns a record of the run: ``outcome``, ``session``, ``files``, ``rows``, ``segments`` and more.

    Args:
        table: With or without ``_OFFLINE``; its config must contain the task.
        lock_wait_s: Seconds to wait for another run of the table. The lock of a killed run expires after 10.
        stop_on_kill: Whether to cancel the subtasks when a user fails or clears the task. Otherwise they
            finish, and the next try uses what they staged. Queries see none of it either way.
        kwargs: As for :class:`PinotOperator`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table",)

    def __init__(
        self, *, table: str, lock_wait_s: float = 120.0, stop_on_kill: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.lock_wait_s = lock_wait_s
        self.stop_on_kill = stop_on_kill
        self._began: tuple[PinotAccess, str] | None = None

    def execute(self, context: Context) -> Any:
        """Start the run, or find the one that an earlier try started."""
        with self.access(context) as access:
            report = begin_run(
                run_tools(access), self.table, task_name(context), lock_wait_s=self.lock_wait_s
            )
            return self._continue(context, access, report)

    def end(self, context: Context, event: Mapping[str, Any], session_id: str) -> Any:
        """End the run once its subtasks are over; called by Airflow after the trigger."""
        self.seen(event)
        with self.access(context) as access:
            return self._continue(context, access, self._end(context, access, session_id))

    def on_kill(self) -> None:
        """Cancel the subtasks if ``stop_on_kill`` is set; the run can be resumed from there."""
        super().on_kill()
        self._cancel_subtasks()

    def _cancel_subtasks(self) -> None:
        if self.stop_on_kill and self._began is not None:
            access, session_id = self._began
            with PinotAccess(access.address, access.by) as own:
                stop_run(run_tools(own), self.table, session_id)

    def _continue(self, context: Context, access: PinotAccess, report: RunReport) -> dict[str, Any]:
        while report.outcome is RunOutcome.BEGUN and report.session_id is not None:
            self.log.info("session %s of %s: %d files", report.session_id, report.table, report.files)
            self._began = (access, report.session_id)
            if self._is_stopped:
                # When the task was stopped, there were no subtasks to cancel yet.
                self._cancel_subtasks()
            self.check_not_stopped()
            condition = SubtasksAreOver(self.table, report.session_id, self.stop_on_kill)
            if self.deferrable:
                self.defer_until(condition, "end", session_id=report.session_id)
            self.wait_until(condition, access)
            report = self._end(context, access, report.session_id)
        return _record(report)

    def _end(self, context: Context, access: PinotAccess, session_id: str) -> RunReport:
        return end_run(
            run_tools(access), self.table, task_name(context), session_id, lock_wait_s=self.lock_wait_s
        )


class PinotRollbackOperator(PinotOperator):
    """Returns a table to an earlier version, in one step; its task does not run until it may follow again.

    A try after a killed one finishes what that began, and does nothing if the table is at the version.

    Returns a record as :class:`PinotFileIngestionOperator` does.

    Args:
        table: With or without ``_OFFLINE``; its task must have ``keepVersions``.
        version: The session that made the version, e.g. from the record of an earlier run.
        lock_wait_s: As for :class:`PinotFileIngestionOperator`.
        kwargs: As for :class:`PinotOperator`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "version")

    def __init__(self, *, table: str, version: str, lock_wait_s: float = 120.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.version = version
        self.lock_wait_s = lock_wait_s

    def execute(self, context: Context) -> dict[str, Any]:
        """Return to the version.

        Raises:
            NotFoundError: There is no such version, or segments of it are no longer kept.
        """
        with self.access(context) as access:
            return _record(
                roll_back(run_tools(access), self.table, self.version, lock_wait_s=self.lock_wait_s)
            )


def _record(report: RunReport) -> dict[str, Any]:
    return {
        "table": str(report.table),
        "outcome": report.outcome.value,
        "mode": report.mode.value,
        "session": report.session_id,
        **{name: getattr(report, name) for name in _COUNTS},
    }
