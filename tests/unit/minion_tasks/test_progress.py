"""What `pinotctl task watch` counts, in each state of a session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minion_tasks.file_ingestion.progress import read_progress
from minion_tasks.file_ingestion.session import (
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedSegment,
)
from minion_tasks.file_ingestion.session_store import SessionStore
from minion_tasks.filestore import FileInfo
from tests.unit.minion_tasks.memory_store import MemoryPropertyStore

FILES = tuple(FileInfo(f"file:///in/{n}.csv", 10 + n, 1) for n in range(4))
SESSION = Session("s1", "t_OFFLINE", SessionState.INIT, 1, 1, "me", "file:///st", 4, 46, 2)


@pytest.fixture
def sessions() -> SessionStore:
    return SessionStore(MemoryPropertyStore(), "t_OFFLINE")  # type: ignore[arg-type]


def test_the_groups_of_a_plan_that_is_being_written_are_not_missed(sessions: SessionStore) -> None:
    session = sessions.create(SESSION)
    assert read_progress(sessions, session).groups == ()
    sessions.create_group("s1", FileGroup(0, (FileEntry(0, FILES[0]),)))
    assert read_progress(sessions, session).groups == ()


def test_files_rows_and_bytes_of_each_group_and_of_all(sessions: SessionStore) -> None:
    session = sessions.create(replace(SESSION, state=SessionState.IN_PROGRESS))
    segment = StagedSegment("t_s1_000000", "file:///st/0", "m", 1, 5, 9, 0.1, "arrow", None)
    done = FileEntry(0, FILES[0], FileStatus.STAGED, segment)
    bad = FileEntry(1, FILES[1], FileStatus.FAILED, error="row 7 is wrong")
    sessions.create_group("s1", FileGroup(0, (done, bad)))
    sessions.create_group("s1", FileGroup(1, (FileEntry(2, FILES[2]), FileEntry(3, FILES[3]))))
    progress = read_progress(sessions, session)
    first, second = progress.groups
    assert (first.files, first.staged, first.failed, first.rows) == (2, 1, 1, 5)
    assert (first.bytes_read, first.bytes_total, first.first_error) == (10, 21, "row 7 is wrong")
    assert (second.files, second.staged, second.failed, second.rows, second.first_error) == (2, 0, 0, 0, None)
    assert (progress.staged, progress.failed, progress.rows, progress.bytes_read) == (1, 1, 5, 10)
