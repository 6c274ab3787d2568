"""The subtask's loop over its group: results, failures, cancellation, two attempts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller_client.errors import DataError, NotAppliedError
from minion_tasks.file_ingestion.executor import FileBuilder, SubtaskFailedError, run_group
from minion_tasks.file_ingestion.session import (
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedSegment,
    abandon,
)
from minion_tasks.file_ingestion.session_store import SessionStore
from minion_tasks.filestore import FileInfo
from tests.unit.minion_tasks.memory_store import MemoryPropertyStore

FILES = tuple(FileInfo(f"file:///in/{name}.csv", 10, 1) for name in "abcd")


def staged(number: int, attempt: str = "one") -> StagedSegment:
    return StagedSegment(
        f"t_s1_{number:06d}", f"file:///st/{number}.{attempt}", "m", 1, 5, 9, 0.1, "arrow", None
    )


def never() -> bool:
    return False


@pytest.fixture
def sessions() -> SessionStore:
    store = SessionStore(MemoryPropertyStore(), "t_OFFLINE")  # type: ignore[arg-type]
    store.create(Session("s1", "t_OFFLINE", SessionState.IN_PROGRESS, 1, 1, "me", "file:///st", 4, 40, 1))
    store.create_group("s1", FileGroup(0, tuple(FileEntry(n, file) for n, file in enumerate(FILES))))
    return store


def statuses(sessions: SessionStore) -> list[FileStatus]:
    return [entry.status for entry in sessions.group("s1", 0).entries]


def test_all_files_are_staged(sessions: SessionStore) -> None:
    run_group(sessions, "s1", 0, lambda number, _file: staged(number), never)
    assert statuses(sessions) == [FileStatus.STAGED] * 4


def test_one_bad_file_does_not_keep_the_others(sessions: SessionStore) -> None:
    def build(number: int, file: FileInfo) -> StagedSegment:
        if number == 1:
            raise DataError("row 7: the field 'n' is 'x'", expected="INT")
        if number == 2:
            raise RuntimeError("a fault of ours")
        return staged(number)

    with pytest.raises(SubtaskFailedError, match="2 of 4 files failed"):
        run_group(sessions, "s1", 0, build, never)
    assert statuses(sessions) == [FileStatus.STAGED, FileStatus.FAILED, FileStatus.FAILED, FileStatus.STAGED]
    errors = [entry.error or "" for entry in sessions.group("s1", 0).entries]
    assert "b.csv" in errors[1]
    assert "row 7" in errors[1]
    assert "c.csv" in errors[2]
    assert "RuntimeError" in errors[2]


def test_a_cancelled_subtask_keeps_what_it_has(sessions: SessionStore) -> None:
    built: list[int] = []

    def build(number: int, file: FileInfo) -> StagedSegment:
        built.append(number)
        return staged(number)

    with pytest.raises(NotAppliedError, match="cancelled"):
        run_group(sessions, "s1", 0, build, lambda: len(built) == 2)
    assert statuses(sessions) == [
        FileStatus.STAGED,
        FileStatus.STAGED,
        FileStatus.PENDING,
        FileStatus.PENDING,
    ]


@pytest.mark.parametrize("change", ["abandoned", "switched"])
def test_a_subtask_that_is_not_wanted_any_more_stops(sessions: SessionStore, change: str) -> None:
    def build(number: int, file: FileInfo) -> StagedSegment:
        session = sessions.load("s1")
        if number == 0:
            over = (
                abandon(session, "x", 2)
                if change == "abandoned"
                else replace(session, state=SessionState.SWITCH)
            )
            sessions.save(over)
        return staged(number)

    with pytest.raises(NotAppliedError, match="not wanted"):
        run_group(sessions, "s1", 0, build, never)


def test_of_two_attempts_at_once_the_first_result_of_a_file_stays(sessions: SessionStore) -> None:
    def other_attempt_between(then: Callable[[], None]) -> FileBuilder:
        def build(number: int, file: FileInfo) -> StagedSegment:
            if number == 3:
                then()
            return staged(number, "one")

        return build

    def run_the_other() -> None:
        run_group(sessions, "s1", 0, lambda number, _file: staged(number, "two"), never)

    run_group(sessions, "s1", 0, other_attempt_between(run_the_other), never)
    assert statuses(sessions) == [FileStatus.STAGED] * 4
    uris = [entry.segment.tar_uri for entry in sessions.group("s1", 0).entries if entry.segment]
    assert all(uri.endswith("two") for uri in uris)
