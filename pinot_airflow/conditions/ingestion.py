"""The subtasks of a FileIngestionTask's session."""

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
    """The subtasks of a session are over, whatever came of them.

    Attributes:
        table: Table name.
        session_id: The session.
        stop_on_kill: Whether they are taken back when a user ends the task.
    """

    table: str
    session_id: str
    stop_on_kill: bool = False

    def watch(self, access: PinotAccess) -> Callable[[], Seen]:
        """Keep how long no minion was there."""
        watch = RunWatch(run_tools(access), self.table, self.session_id)

        def look() -> Seen:
            over, progress = watch.poll()
            if progress is None:
                return Seen(over, f"session {self.session_id} is gone")
            session = progress.session
            done = f"{progress.staged:,} of {session.files:,} files with {progress.rows:,} rows are staged"
            text = f"session {session.session_id} is {session.state}: {done}, {progress.failed:,} failed"
            return Seen(over, text)

        return look

    def look(self, access: PinotAccess) -> Seen:
        """Look once."""
        return self.watch(access)()

    def on_kill(self, access: PinotAccess) -> None:
        """Take the subtasks back, if that is wanted."""
        if self.stop_on_kill:
            stop_run(run_tools(access), self.table, self.session_id)
