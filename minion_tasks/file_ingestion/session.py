"""An ingestion session: what is true in each state, and the one function that moves it.

States (seed: "state (read-only)"), and what moves a session on:

- ``INIT``: the session has a plan of files; no subtask was started. → ``IN_PROGRESS`` when subtasks are
submitted.
- ``IN_PROGRESS``: subtasks run or have run; each file is pending, staged or failed. → ``IN_PROGRESS`` for a
retry of the files
  not staged, → ``SWITCH`` when all are staged.
- ``SWITCH``: all files are staged, the segments to publish are fixed. → ``DONE`` when the lineage entry is
completed.
- ``DONE``: the new segments serve.

A session that will not be taken further is *abandoned*: in INIT and IN_PROGRESS at any time. From SWITCH on
the lineage decides: such a session is finished, and abandoned only if the lineage says that its entry was
reverted, or if its table was dropped with its lineage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from controller_client.errors import ConflictError
from minion_tasks.filestore import FileInfo


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


class FileStatus(StrEnum):
    """What became of one file of a session."""

    PENDING = "pending"
    STAGED = "staged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A built segment that lies in the staging folder, unknown to the controller so far."""

    name: str
    tar_uri: str
    metadata_uri: str
    crc: int
    rows: int
    tar_size_bytes: int
    build_s: float
    reader: str
    fallback_reason: str | None


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a session: as listed, the number its segment is named by, and what became of it."""

    number: int
    file: FileInfo
    status: FileStatus = FileStatus.PENDING
    segment: StagedSegment | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The files of one subtask. ``version`` is that of the znode, for compare-and-set."""

    number: int
    entries: tuple[FileEntry, ...]
    version: int = -1


@dataclass(frozen=True)
class Session:
    """One ingestion session of a table. ``version`` is that of the znode, for compare-and-set.

    Attributes:
        session_id: Sorts by the time of its creation; part of every segment name.
        table: Table name with type.
        owner: Who runs it, for people.
        retry_count: Triggers that went on with this session after its first.
        staging_uri: The folder of its staged segments.
        groups: How many file groups it has.
        task_name: The Helix task of its last submission.
        entry_id: The lineage entry of its switch, once it is known.
        abandoned: Nobody goes on with it; ``message`` says why.
    """

    session_id: str
    table: str
    state: SessionState
    created_ms: int
    updated_ms: int
    owner: str
    staging_uri: str
    files: int
    total_bytes: int
    groups: int
    retry_count: int = 0
    task_name: str | None = None
    entry_id: str | None = None
    abandoned: bool = False
    message: str | None = None
    version: int = -1

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
        ConflictError: The session is past the point where it may be thrown away.
    """
    if session.state not in ABANDONABLE and not (entry_gone and session.state is SessionState.SWITCH):
        raise ConflictError(
            f"session {session.session_id} is in {session.state} and cannot be abandoned",
            expected="a session before SWITCH: after it, the lineage entry decides",
            where=session.table,
            remedy="run the task again: it finishes the switch",
        )
    return replace(session, abandoned=True, message=reason, updated_ms=now_ms)
