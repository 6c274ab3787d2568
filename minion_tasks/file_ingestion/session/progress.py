"""The progress of a session, read from its ledger: the same numbers for its run and for observers."""

from __future__ import annotations

from dataclasses import dataclass

from minion_tasks.file_ingestion.session.model import FileGroup, FileStatus, Session, SessionState
from minion_tasks.file_ingestion.session.store import SessionStore


@dataclass(frozen=True)
class GroupProgress:
    """The progress of one group.

    Attributes:
        is_settled: Whether all of its files have been read.
    """

    group: int
    files: int
    staged: int
    failed: int
    rows: int
    bytes_read: int
    bytes_total: int
    first_error: str | None
    is_settled: bool


@dataclass(frozen=True)
class SessionProgress:
    """The progress of a session, by group."""

    session: Session
    groups: tuple[GroupProgress, ...]

    @property
    def is_settled(self) -> bool:
        """Whether the subtasks have nothing left to do."""
        return bool(self.groups) and all(group.is_settled for group in self.groups)

    @property
    def staged(self) -> int:
        """Number of staged files."""
        return sum(group.staged for group in self.groups)

    @property
    def failed(self) -> int:
        """Number of failed files."""
        return sum(group.failed for group in self.groups)

    @property
    def rows(self) -> int:
        """Number of rows in the staged segments."""
        return sum(group.rows for group in self.groups)

    @property
    def bytes_read(self) -> int:
        """Total size of the staged files."""
        return sum(group.bytes_read for group in self.groups)


def group_progress(group: FileGroup) -> GroupProgress:
    """Return the progress of one group."""
    staged = [entry for entry in group.entries if entry.status is FileStatus.STAGED]
    failed = [entry for entry in group.entries if entry.status is FileStatus.FAILED]
    return GroupProgress(
        group=group.number,
        files=len(group.entries),
        staged=len(staged),
        failed=len(failed),
        rows=sum(segment.rows for segment in group.segments),
        bytes_read=sum(entry.file.size_bytes for entry in staged),
        bytes_total=group.source_bytes,
        first_error=failed[0].error if failed else None,
        is_settled=group.is_settled,
    )


def read_progress(sessions: SessionStore, session: Session) -> SessionProgress:
    """Read the progress of all groups of a session; none in INIT, when they are still being written."""
    if session.state is SessionState.INIT:
        return SessionProgress(session, ())
    return SessionProgress(session, tuple(group_progress(group) for group in sessions.groups(session)))
