"""An ingestion session, its states and their transitions.

States, and what moves a session to the next:

- ``INIT``: the plan of files is being written; no subtask has started. → ``IN_PROGRESS`` when the plan is
  complete, before subtasks are submitted.
- ``IN_PROGRESS``: subtasks run or have run; each file is pending, staged, failed or skipped.
  → ``IN_PROGRESS`` for a retry of the files not staged, → ``SWITCH`` when all are staged and pass the task's
  checks, otherwise → ``REJECTED``.
- ``REJECTED``: all files are staged, but do not pass the checks. → ``IN_PROGRESS`` if the source changes,
  → ``SWITCH`` when they pass, e.g. after the checks were changed, or when somebody accepts them.
- ``SWITCH``: all files are staged, and the segments to add and to replace are fixed. → ``DONE`` when that has
  happened.
- ``DONE``: the new segments are queryable.

A session that will not continue is *abandoned*, which is possible at any time before SWITCH. From SWITCH on,
the lineage decides: the session is finished, and abandoned only if the lineage shows that its entry
was reverted, or if its table was dropped with its lineage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from controller_client.common.names import TableName
from controller_client.errors import ConflictError
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from minion_tasks.sources.base import SourceVersion


class SessionState(StrEnum):
    """The state of a session."""

    INIT = "INIT"
    IN_PROGRESS = "IN_PROGRESS"
    REJECTED = "REJECTED"
    SWITCH = "SWITCH"
    DONE = "DONE"


ALLOWED: Mapping[SessionState, frozenset[SessionState]] = {
    SessionState.INIT: frozenset({SessionState.IN_PROGRESS}),
    SessionState.IN_PROGRESS: frozenset(
        {SessionState.IN_PROGRESS, SessionState.REJECTED, SessionState.SWITCH}
    ),
    SessionState.REJECTED: frozenset({SessionState.IN_PROGRESS, SessionState.REJECTED, SessionState.SWITCH}),
    SessionState.SWITCH: frozenset({SessionState.DONE}),
    SessionState.DONE: frozenset(),
}
ABANDONABLE = frozenset({SessionState.INIT, SessionState.IN_PROGRESS, SessionState.REJECTED})


class IngestionMode(StrEnum):
    """How a session changes the table."""

    APPEND = "append"
    """New files are added; a changed or deleted file stays in the table as it was ingested."""
    UPDATE = "update"
    """New files are added, and changed ones replaced; a deleted file stays in the table."""
    SYNC = "sync"
    """The table follows the files: new, changed and deleted ones."""
    SWAP = "swap"
    """The table's entire content is replaced with the content of the source."""

    @property
    def removes(self) -> bool:
        """Whether the table loses the rows of deleted files."""
        return self in (IngestionMode.SYNC, IngestionMode.SWAP)


class FileStatus(StrEnum):
    """The result of one file of a session."""

    PENDING = "pending"
    STAGED = "staged"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Its reader could not be opened, and ``skipFileIfFailToInitReader`` allows skipping it."""


SETTLED = frozenset({FileStatus.STAGED, FileStatus.SKIPPED})


@dataclass(frozen=True, slots=True)
class ColumnNote:
    """A column that is missing in files of a build, or that is in files but not in the table.

    Attributes:
        files: Number of files.
        first: The file number of one of them.
    """

    name: str
    is_missing: bool
    files: int
    first: int


@dataclass(frozen=True, slots=True)
class StagedBuild:
    """Files that were built together (by number), and the segments that contain all their rows."""

    files: tuple[int, ...]
    segments: tuple[StagedSegment, ...]
    columns: tuple[ColumnNote, ...] = ()


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a session: as listed, with its number in the session, its result and when that was saved.

    Attributes:
        refreshes: Without consistent push, the segment of the table that is replaced in place.
    """

    number: int
    file: FileInfo
    status: FileStatus = FileStatus.PENDING
    error: str | None = None
    ended_ms: int | None = None
    refreshes: str | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that one subtask processes together.

    Attributes:
        empty_segment: The group has no files and represents one empty segment (Pinot before 1.0 cannot
            replace segments with nothing).
    """

    number: int
    entries: tuple[FileEntry, ...]
    builds: tuple[StagedBuild, ...] = ()
    empty_segment: bool = False

    @property
    def segments(self) -> list[StagedSegment]:
        """All staged segments of the group."""
        return [segment for build in self.builds for segment in build.segments]

    @property
    def source_bytes(self) -> int:
        """Total size of the group's files."""
        return sum(entry.file.size_bytes for entry in self.entries)

    @property
    def is_settled(self) -> bool:
        """Whether all of its files have been read."""
        if self.empty_segment:
            return bool(self.builds)
        return all(entry.status in SETTLED for entry in self.entries)


@dataclass(frozen=True)
class Session:
    """One ingestion session of a table.

    Attributes:
        session_id: Sorts by creation time; part of every segment name.
        table: Table name with type.
        owner: Who runs it; informational.
        mode: How it changes the table.
        atomic: Whether everything becomes visible in one step.
        source: ``inputDirURI`` when it started.
        staging_uri: The folder of its staged segments.
        files: Number of files, including skipped ones.
        total_bytes: Total size of the files.
        groups: Number of file groups.
        numbers: Number of file numbers assigned; a number is never used twice.
        from_pages: Number of stored pages of segments to replace (from REJECTED or SWITCH on).
        attempts_ms: When each trigger started to read files: the first, then the retries.
        retry_count: Number of triggers that resumed this session.
        task_name: The Helix task of its last submission.
        entry_id: The lineage entry of its switch, once known.
        behind: Servers that lacked new segments when its switch continued, and how many each lacked.
        abandoned: No trigger resumes it; ``message`` has the reason.
        message: The last error.
        request: Name of the request that started it, which is the same for each try; None if it has none.
        source_version: The version of a lakehouse table that its last attempt reads; None for a folder.
        restores: The session whose version it returns to; None: it reads a source.
        held: No run starts after it until somebody says that the task follows its source again.
        version: Version of its znode, for compare-and-set.
        unknown: Fields of its record that this release does not know; they are preserved.
    """

    session_id: str
    table: TableName
    state: SessionState
    created_ms: int
    updated_ms: int
    owner: str
    mode: IngestionMode
    atomic: bool
    source: str
    staging_uri: str
    files: int = 0
    total_bytes: int = 0
    groups: int = 0
    numbers: int = 0
    from_pages: int = 0
    attempts_ms: tuple[int, ...] = ()
    retry_count: int = 0
    task_name: str | None = None
    entry_id: str | None = None
    behind: tuple[tuple[str, int], ...] = ()
    abandoned: bool = False
    message: str | None = None
    request: str | None = None
    source_version: SourceVersion | None = None
    restores: str | None = None
    held: bool = False
    version: int = -1
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_open(self) -> bool:
        """Whether the next trigger has to resume, finish or discard it."""
        return self.state is not SessionState.DONE and not self.abandoned


def move(session: Session, to: SessionState, now_ms: int) -> Session:
    """Return the session in its next state; the caller saves it by compare-and-set.

    Raises:
        ConflictError: The transition is not allowed.
    """
    if session.abandoned or to not in ALLOWED[session.state]:
        state = f"{session.state} (abandoned)" if session.abandoned else session.state
        raise ConflictError(
            f"session {session.session_id} cannot move from {state} to {to}",
            expected="one of " + (", ".join(sorted(ALLOWED[session.state])) or "none: the session has ended"),
            where=session.table,
        )
    return replace(session, state=to, updated_ms=now_ms)


def abandon(session: Session, reason: str, now_ms: int, *, entry_gone: bool = False) -> Session:
    """Return the session marked as abandoned; the caller saves it by compare-and-set.

    Args:
        session: The session.
        reason: Stored as the session's message.
        now_ms: Epoch milliseconds.
        entry_gone: The entry of the session's switch was reverted, or its table was dropped.

    Raises:
        ConflictError: The session is past the state in which it may be abandoned.
    """
    if session.state not in ABANDONABLE and not (entry_gone and session.state is SessionState.SWITCH):
        raise ConflictError(
            f"session {session.session_id} is in state {session.state} and cannot be abandoned",
            expected="a session before SWITCH; from then on, its lineage entry decides",
            where=session.table,
            remedy="run the task again to finish the switch",
        )
    return replace(session, abandoned=True, message=reason, updated_ms=now_ms)
