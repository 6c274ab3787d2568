"""Which versions a table has had, and what a rollback to one of them changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from controller_client.publishing.staged_segment import StagedSegment
from minion_tasks.file_ingestion.session.model import Session, SessionState
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore

__all__ = ["Rollback", "VersionChange", "needed_segments", "read_change", "read_versions", "undo"]


def read_versions(sessions: SessionStore, most: int) -> list[Session]:
    """Return the sessions that made the table's last versions, oldest first; the last one is current.

    Versions before an unknown change are left out: a session that is damaged, or that published segments one
    by one.

    Args:
        sessions: The table's sessions.
        most: How many versions are kept.
    """
    versions: list[Session] = []
    for session_id in reversed(sessions.ids()):
        if len(versions) == most:
            break
        try:
            session = sessions.load(session_id)
        except DamagedSessionError:
            break
        if session.state is SessionState.DONE:
            if not session.atomic or sessions.is_of_dropped_table(session):
                break
            versions.append(session)
    return versions[::-1]


@dataclass(frozen=True)
class VersionChange:
    """What a session has changed.

    Attributes:
        added: The segments that it added.
        replaced: Names of the segments that it replaced.
    """

    added: tuple[StagedSegment, ...]
    replaced: tuple[str, ...]


def read_change(sessions: SessionStore, session: Session) -> VersionChange:
    """Read what a session in DONE has changed."""
    added = (segment for group in sessions.groups(session) for segment in group.segments)
    return VersionChange(tuple(added), tuple(sessions.read_from(session)))


@dataclass(frozen=True)
class Rollback:
    """What a rollback to an earlier version changes.

    Attributes:
        restored: Names of the segments that come back.
        removed: Names of the segments that go.
    """

    restored: tuple[str, ...]
    removed: tuple[str, ...]


def undo(later: Sequence[VersionChange], visible: Collection[str]) -> Rollback:
    """Undo versions, newest first; segments of other writers, and what retention deletes, stay as they are.

    Args:
        later: What was changed after the version to roll back to, oldest first.
        visible: Names of the segments that queries see.
    """
    present = set(visible)
    result = set(present)
    for change in reversed(later):
        result.difference_update(segment.name for segment in change.added)
        result.update(change.replaced)
    return Rollback(tuple(sorted(result - present)), tuple(sorted(present - result)))


def needed_segments(sessions: SessionStore, most: int) -> set[str]:
    """Return the names of the segments that a rollback to one of the last versions may restore."""
    later = read_versions(sessions, most)[1:]
    return {name for session in later for name in sessions.read_from(session)}
