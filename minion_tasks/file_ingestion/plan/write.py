"""Writes the plan of a session: its file groups and totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.planner import group
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, FileStatus, Session
from minion_tasks.file_ingestion.session.store import SessionStore

# A group is one znode, written each time one of its units is done.
MAX_FILES_PER_GROUP = 500


class SavedSession:
    """A session as last written."""

    def __init__(self, sessions: SessionStore, session: Session) -> None:
        self._sessions = sessions
        self._writing: Session | None = None
        self.session = session

    def save(self, session: Session) -> Session:
        """Save the session by compare-and-set."""
        self._writing = session
        self.session = self._sessions.save(session)
        self._writing = None
        return self.session

    def settle(self) -> None:
        """Read the session back after a write without an answer: Ctrl-C, or an unknown outcome."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        found = self._sessions.load(writing.session_id)
        if found == replace(writing, version=writing.version + 1):
            self.session = found


def group_bounds(files: Sequence[FileInfo], params: FileIngestionParams, slots: int) -> tuple[int, int]:
    """Return the maximum number of files and bytes in a group, chosen so that all slots get work.

    Files that share a segment stay together: in append mode a group has at least the size of a segment.
    """
    max_files, max_bytes = min(params.max_files_per_task, MAX_FILES_PER_GROUP), params.max_bytes_per_task
    if params.one_to_one:
        return min(max_files, max(1, -(-len(files) // slots))), max_bytes
    total = sum(file.size_bytes for file in files)
    return max_files, min(max_bytes, max(params.segment_bytes, -(-total // slots)))


def cut(files: Sequence[FileInfo], params: FileIngestionParams, slots: int) -> list[tuple[FileInfo, ...]]:
    """Split the files that are added to a session into groups."""
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
    """Write groups for files that are added to a session; the caller then saves the session with their count.

    An atomic session that has no files left, or only skipped ones, gets a group for an empty segment: before
    Pinot 1.0, a replacement needs at least one new segment.

    Args:
        sessions: The table's sessions.
        session: The session.
        files: The added files.
        params: The task's parameters.
        slots: How many subtasks can run in parallel.
        in_place: Without consistent push, maps URIs to the segments that are replaced in place.
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
    adds_nothing = all(entry.status is FileStatus.SKIPPED for entry in entries)
    if session.atomic and adds_nothing and not any(each.empty_segment for each in written):
        _write(sessions, session.session_id, FileGroup(groups, (), empty_segment=True))
        counted = replace(counted, groups=groups + 1)
    total = sum(entry.file.size_bytes for entry in entries)
    return replace(counted, files=len(entries), total_bytes=total)


def _write(sessions: SessionStore, session_id: str, new: FileGroup) -> None:
    sessions.drop_group(session_id, new.number)  # left by a run that was killed before it counted the group
    sessions.create_group(session_id, new)
