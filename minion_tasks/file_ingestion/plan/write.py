"""Writing the plan of a session: its files in groups, its totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.planner import group
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, FileStatus, Session
from minion_tasks.file_ingestion.session.store import SessionStore

# A group is one znode, written each time a unit of it is done.
MAX_FILES_PER_GROUP = 500


class SavedSession:
    """The session as it was last written."""

    def __init__(self, sessions: SessionStore, session: Session) -> None:
        self._sessions = sessions
        self._writing: Session | None = None
        self.session = session

    def save(self, session: Session) -> Session:
        """Write it by compare-and-set."""
        self._writing = session
        self.session = self._sessions.save(session)
        self._writing = None
        return self.session

    def settle(self) -> None:
        """Read the session back after a write whose answer did not come: Ctrl-C, or an unknown outcome."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        found = self._sessions.load(writing.session_id)
        if found == replace(writing, version=writing.version + 1):
            self.session = found


def group_bounds(files: Sequence[FileInfo], params: FileIngestionParams, slots: int) -> tuple[int, int]:
    """Return how many files and bytes a group takes at most, so that all slots get work.

    Files that share a segment are not torn apart: in append mode a group keeps the size of a segment.
    """
    max_files, max_bytes = min(params.max_files_per_task, MAX_FILES_PER_GROUP), params.max_bytes_per_task
    if params.one_to_one:
        return min(max_files, max(1, -(-len(files) // slots))), max_bytes
    total = sum(file.size_bytes for file in files)
    return max_files, min(max_bytes, max(params.segment_bytes, -(-total // slots)))


def cut(files: Sequence[FileInfo], params: FileIngestionParams, slots: int) -> list[tuple[FileInfo, ...]]:
    """Cut files that join a session into its groups."""
    max_files, max_bytes = group_bounds(files, params, slots)
    return group(files, max_files=max_files, max_bytes=max_bytes)


def write_groups(
    sessions: SessionStore,
    session: Session,
    files: Sequence[FileInfo],
    params: FileIngestionParams,
    *,
    slots: int,
    in_place: Mapping[str, str] | None = None,
) -> Session:
    """Write groups for files that join a session; the caller saves the session, which then counts them.

    An atomic session without any file left, or with skipped ones only, gets a group for a segment without
    rows: before Pinot 1.0, a replacement needs something that comes.

    Args:
        sessions: The table's sessions.
        session: The session.
        files: What joins it.
        params: The task's parameters.
        slots: Subtasks that can run side by side.
        in_place: Without consistent push, URIs to the segments that the files' own replace in place.
    """
    refreshed = in_place or {}
    number, groups = session.numbers, session.groups
    for part in cut(files, params, slots):
        new = tuple(
            FileEntry(number + offset, file, refreshes=refreshed.get(file.uri))
            for offset, file in enumerate(part)
        )
        number += len(part)
        _write(sessions, session.session_id, FileGroup(groups, new))
        groups += 1
    counted = replace(session, numbers=number, groups=groups)
    written = list(sessions.groups(counted))
    entries = [entry for each in written for entry in each.entries]
    comes_nothing = all(entry.status is FileStatus.SKIPPED for entry in entries)
    if session.atomic and comes_nothing and not any(each.empty_segment for each in written):
        _write(sessions, session.session_id, FileGroup(groups, (), empty_segment=True))
        counted = replace(counted, groups=groups + 1)
    total = sum(entry.file.size_bytes for entry in entries)
    return replace(counted, files=len(entries), total_bytes=total)


def _write(sessions: SessionStore, session_id: str, new: FileGroup) -> None:
    sessions.drop_group(session_id, new.number)  # of a run that was killed before it counted it
    sessions.create_group(session_id, new)
