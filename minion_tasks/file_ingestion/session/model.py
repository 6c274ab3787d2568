"""An ingestion session: what is true in each state, and the one function that moves it.

States (seed: "state (read-only)"), and what moves a session on:

- ``INIT``: the plan of files is being written; no subtask was started. → ``IN_PROGRESS`` when all of it is
  there, before subtasks are submitted.
- ``IN_PROGRESS``: subtasks run or have run; each file is pending, staged, failed or skipped.
  → ``IN_PROGRESS`` for a retry of the files not staged, → ``SWITCH`` when all are staged.
- ``SWITCH``: all files are staged, the segments that come and go are fixed. → ``DONE`` when they have.
- ``DONE``: the new segments serve.

A session that will not be taken further is *abandoned*: in INIT and IN_PROGRESS at any time. From SWITCH on
the lineage decides: such a session is finished, and abandoned only if the lineage shows that its entry was
reverted, or if its table was dropped with its lineage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from controller_client.common.names import TableName
from controller_client.errors import ConflictError
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment


class SessionState(StrEnum):
    """The state of a session, as the seed names it."""

    INIT = "INIT"
    IN_PROGRESS = "IN_PROGRESS"
    SWITCH = "SWITCH"
    DONE = "DONE"


ALLOWED: Mapping[SessionState, frozenset[SessionState]] = {
    SessionState.INIT: frozenset({SessionState.IN_PROGRESS}),
    SessionState.IN_PROGRESS: frozenset({SessionState.IN_PROGRESS, SessionState.SWITCH}),
    SessionState.SWITCH: frozenset({SessionState.DONE}),
    SessionState.DONE: frozenset(),
}
ABANDONABLE = frozenset({SessionState.INIT, SessionState.IN_PROGRESS})


class IngestionMode(StrEnum):
    """What a session brings the table to (seed: key point 2, and ``consistentPushSwapEnabled``)."""

    APPEND = "append"
    """New files are added; a file that changes or goes is left as it is in the table."""
    SYNC = "sync"
    """The table follows the files: new, changed and deleted ones."""
    SWAP = "swap"
    """The table's whole content is replaced by what the source holds."""


class FileStatus(StrEnum):
    """What became of one file of a session."""

    PENDING = "pending"
    STAGED = "staged"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Its reader could not be opened, and ``skipFileIfFailToInitReader`` allows going on without it."""


SETTLED = frozenset({FileStatus.STAGED, FileStatus.SKIPPED})


@dataclass(frozen=True, slots=True)
class ColumnNote:
    """A column that is missing in files of a unit, or that the table does not read.

    Attributes:
        files: How many files.
        first: The number of one of them.
    """

    name: str
    is_missing: bool
    files: int
    first: int


@dataclass(frozen=True, slots=True)
class StagedUnit:
    """Files that were built together (by their numbers), and the segments that hold all their rows."""

    files: tuple[int, ...]
    segments: tuple[StagedSegment, ...]
    columns: tuple[ColumnNote, ...] = ()


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a session: as listed, its number in the session, and what became of it when.

    Attributes:
        refreshes: Without consistent push, the segment of the table that its segment replaces in place.
    """

    number: int
    file: FileInfo
    status: FileStatus = FileStatus.PENDING
    error: str | None = None
    ended_ms: int | None = None
    refreshes: str | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that one subtask takes together.

    Attributes:
        empty_segment: The group stands for one segment without rows (Pinot before 1.0 has no replacement by
            nothing); it has no files.
    """

    number: int
    entries: tuple[FileEntry, ...]
    units: tuple[StagedUnit, ...] = ()
    empty_segment: bool = False

    @property
    def segments(self) -> list[StagedSegment]:
        """All staged segments of the group."""
        return [segment for unit in self.units for segment in unit.segments]

    @property
    def source_bytes(self) -> int:
        """Size of the group's files."""
        return sum(entry.file.size_bytes for entry in self.entries)

    @property
    def is_settled(self) -> bool:
        """Whether no file of it is left to read."""
        if self.empty_segment:
            return bool(self.units)
        return all(entry.status in SETTLED for entry in self.entries)


@dataclass(frozen=True)
class Session:
    """One ingestion session of a table. ``version`` is that of the znode, for compare-and-set.

    Attributes:
        session_id: Sorts by the time of its creation; part of every segment name.
        table: Table name with type.
        owner: Who runs it, for people.
        mode: What it brings the table to.
        atomic: Whether all becomes visible in one step.
        source: ``inputDirURI`` at its start.
        staging_uri: The folder of its staged segments.
        files: Files in it; skipped ones count.
        total_bytes: Their size.
        groups: How many file groups it has.
        numbers: How many file numbers were given out; a number is never used twice.
        from_pages: How many pages of segments to replace are written down (from SWITCH on).
        attempts_ms: When each trigger began to read files; the first, then the retries.
        retry_count: Triggers that went on with this session after its first.
        task_name: The Helix task of its last submission.
        entry_id: The lineage entry of its switch, once it is known.
        behind: Servers that lacked new segments when its switch went on, and how many.
        abandoned: Nobody resumes it; ``message`` has the reason.
        message: What went wrong last.
        request: Whose run it is, by a name that stays the same when they ask again; None where nobody said.
        unknown: Fields of its record that this release does not know; they stay in it.
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
    version: int = -1
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_open(self) -> bool:
        """Whether a next trigger has to deal with it."""
        return self.state is not SessionState.DONE and not self.abandoned


def move(session: Session, to: SessionState, now_ms: int) -> Session:
    """Return the session in its next state; the caller saves it by compare-and-set.

    Raises:
        ConflictError: The state cannot follow the present one.
    """
    if session.abandoned or to not in ALLOWED[session.state]:
        state = f"{session.state} (abandoned)" if session.abandoned else session.state
        raise ConflictError(
            f"session {session.session_id} cannot go from {state} to {to}",
            expected="one of "
            + (", ".join(sorted(ALLOWED[session.state])) or "nothing: the session is over"),
            where=session.table,
        )
    return replace(session, state=to, updated_ms=now_ms)


def abandon(session: Session, reason: str, now_ms: int, *, entry_gone: bool = False) -> Session:
    """Return the session marked as abandoned; the caller saves it by compare-and-set.

    Args:
        session: The session.
        reason: For people.
        now_ms: Epoch milliseconds.
        entry_gone: The entry of the session's switch was reverted, or its table was dropped.

    Raises:
        ConflictError: The session is past the point where it may be discarded.
    """
    if session.state not in ABANDONABLE and not (entry_gone and session.state is SessionState.SWITCH):
        raise ConflictError(
            f"session {session.session_id} is in {session.state} and cannot be abandoned",
            expected="a session before SWITCH: after it, the lineage entry decides",
            where=session.table,
            remedy="run the task again: it finishes the switch",
        )
    return replace(session, abandoned=True, message=reason, updated_ms=now_ms)
