"""Why files of a session are in no segment, and the errors that say so."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.common.text import indented_lines
from minion_tasks.file_ingestion.engine.minion import Engine
from minion_tasks.file_ingestion.run.types import FilesFailedError
from minion_tasks.file_ingestion.session.model import FileStatus, Session
from minion_tasks.file_ingestion.session.store import SessionStore

__all__ = ["failures_of", "files_failed", "others_published"]


def failures_of(session: Session, sessions: SessionStore, engine: Engine) -> list[str]:
    """Return the reason for each file of a session that is not staged.

    Args:
        session: The session; its subtasks are over.
        sessions: The table's sessions.
        engine: What ran the subtasks, and may know why one of them ended.
    """
    failures: list[str] = []
    ends = None
    for group in sessions.groups(session):
        if group.is_settled:
            continue
        if ends is None:
            ends = engine.explain(session.task_name) if session.task_name else {}
        end = ends.get(group.number, "see the log of the process that ran it")
        if group.empty_segment:
            failures.append(f"empty segment: its subtask ended without a result ({end})")
        for entry in group.entries:
            if entry.status is FileStatus.FAILED:
                failures.append(entry.error or entry.file.shown)
            elif entry.status is FileStatus.PENDING:
                failures.append(f"{entry.file.shown}: its subtask ended without a result ({end})")
    return failures


def files_failed(session: Session, failures: Sequence[str], max_retries: int) -> FilesFailedError:
    """Return the error of a session that publishes nothing, since files failed."""
    left = max_retries - session.retry_count
    if left > 0:
        again = "the next trigger reads the files that are not staged"
        remedy = f"fix the cause on each line; {again} (retries left: {left})"
    else:
        remedy = "fix the cause on each line, then run the task again; it starts over"
    return FilesFailedError(
        f"{len(failures)} of {session.files} files could not be ingested; {session.table} is unchanged:\n"
        f"  {indented_lines(failures)}",
        remedy=remedy,
    )


def others_published(session: Session, failures: Sequence[str]) -> FilesFailedError:
    """Return the error of a session, without consistent push, that has published its other files."""
    return FilesFailedError(
        f"{len(failures)} of {session.files} files could not be ingested; the others are in"
        f" {session.table}:\n  {indented_lines(failures)}",
        remedy="fix the cause on each line; the next trigger reads these files again",
    )
