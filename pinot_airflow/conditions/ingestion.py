"""A condition about the subtasks of a FileIngestionTask session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minion_tasks.file_ingestion.run.stepped import RunWatch, stop_run
from pinot_airflow.access import PinotAccess
from pinot_airflow.conditions.base import Condition, Seen
from pinot_airflow.run_tools import run_tools

__all__ = ["SubtasksAreOver"]


@dataclass(frozen=True)
class SubtasksAreOver(Condition):
    """The subtasks of a session have ended, whatever their results.

    Attributes:
        table: Table name.
        session_id: The session.
        stop_on_kill: Whether to cancel the subtasks when a user stops the task.
    """

    table: str
    session_id: str
    stop_on_kill: bool = False

    def watch(self, access: PinotAccess) -> Callable[[], Seen]:
        """Return a check that remembers for how long no minion was live."""
        watch = RunWatch(run_tools(access), self.table, self.session_id)

        def check() -> Seen:
            over, progress = watch.poll()
            if progress is None:
                return Seen(over, f"session {self.session_id} no longer exists")
            session = progress.session
            done = f"{progress.staged:,} of {session.files:,} files staged ({progress.rows:,} rows)"
            text = f"session {session.session_id} is {session.state}: {done}, {progress.failed:,} failed"
            return Seen(over, text)

        return check

    def look(self, access: PinotAccess) -> Seen:
        """Check once."""
        return self.watch(access)()

    def on_kill(self, access: PinotAccess) -> None:
        """Cancel the subtasks if ``stop_on_kill`` is set."""
        if self.stop_on_kill:
            stop_run(run_tools(access), self.table, self.session_id)
