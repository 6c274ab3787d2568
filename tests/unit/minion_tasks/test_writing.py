from __future__ import annotations

from dataclasses import replace

import pytest

from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.plan.write import group_bounds, write_groups
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedBuild,
)
from tests.unit.minion_tasks.samples import file, make_params, make_session, make_store, segment

THREE_A_GROUP = make_params(taskMaxNumFilesPerTask="3")


def _files(names: str) -> list[FileInfo]:
    return [file(name, size=10 + n) for n, name in enumerate(names)]


def test_a_plan_is_written_in_groups_with_numbers_and_totals() -> None:
    store, _ = make_store()
    created = store.create(make_session())
    session = write_groups(store, created, _files("abcde"), THREE_A_GROUP, slots=1)
    assert (session.files, session.groups, session.numbers, session.total_bytes) == (5, 2, 5, 60)
    groups = list(store.groups(session))
    assert [[entry.number for entry in group.entries] for group in groups] == [[0, 1, 2], [3, 4]]
    assert not any(group.empty_segment for group in groups)
    assert store.load("s1") == created, "the caller saves it"


def test_added_files_get_new_groups_and_numbers() -> None:
    store, _ = make_store()
    session = write_groups(store, store.create(make_session()), _files("abcd"), THREE_A_GROUP, slots=1)
    # One file was dropped meanwhile.
    store.change_group("s1", 1, lambda group: replace(group, entries=()))
    session = write_groups(store, session, _files("ef"), THREE_A_GROUP, slots=1)
    assert (session.files, session.groups, session.numbers) == (5, 3, 6)
    assert [entry.number for entry in store.group("s1", 2).entries] == [4, 5]


def test_nothing_changes_without_new_files() -> None:
    store, memory = make_store()
    session = write_groups(store, store.create(make_session()), _files("abcd"), THREE_A_GROUP, slots=1)
    before = dict(memory.nodes)
    assert write_groups(store, session, [], THREE_A_GROUP, slots=1) == session
    assert memory.nodes == before


def test_uncounted_groups_of_a_killed_run_are_rewritten() -> None:
    store, _ = make_store()
    session = write_groups(store, store.create(make_session()), _files("abcd"), THREE_A_GROUP, slots=1)
    write_groups(store, session, _files("efghijk"), THREE_A_GROUP, slots=1)
    again = write_groups(store, session, _files("xy"), THREE_A_GROUP, slots=1)
    assert (again.files, again.groups, again.numbers) == (6, 3, 6)
    assert [entry.file.uri[-1] for entry in store.group("s1", 2).entries] == ["x", "y"]


def test_a_session_without_files_gets_one_empty_segment() -> None:
    store, _ = make_store()
    session = write_groups(store, store.create(make_session()), [], THREE_A_GROUP, slots=1)
    assert (session.files, session.groups, session.numbers, session.total_bytes) == (0, 1, 0, 0)
    assert store.group("s1", 0) == FileGroup(0, (), empty_segment=True)
    assert write_groups(store, session, [], THREE_A_GROUP, slots=1) == session


def test_a_session_whose_files_were_all_dropped_gets_an_empty_segment() -> None:
    store, _ = make_store()
    session = write_groups(store, store.create(make_session()), _files("a"), THREE_A_GROUP, slots=1)
    store.change_group("s1", 0, lambda group: replace(group, entries=()))
    session = write_groups(store, session, [], THREE_A_GROUP, slots=1)
    assert (session.files, session.groups) == (0, 2)
    assert store.group("s1", 1).empty_segment
    # A file that is added later does not need the empty segment, and does not remove it.
    staged = StagedBuild((), (segment("empty", rows=0),))
    store.change_group("s1", 1, lambda group: replace(group, builds=(staged,)))
    session = write_groups(store, session, _files("b"), THREE_A_GROUP, slots=1)
    assert (session.files, session.groups, session.numbers) == (1, 3, 2)


def test_a_non_atomic_session_needs_no_empty_segment() -> None:
    store, _ = make_store()
    session = store.create(make_session(atomic=False))
    assert write_groups(store, session, [], THREE_A_GROUP, slots=1).groups == 0


@pytest.mark.parametrize(
    ("changes", "slots", "expected"),
    [
        # Each file is a segment: as many groups as can run in parallel, none larger than a subtask may be.
        ({"enableSync": "true"}, 1, (8, 1000)),
        ({"enableSync": "true"}, 3, (3, 1000)),
        ({"enableSync": "true"}, 100, (1, 1000)),
        ({"enableSync": "true", "taskMaxNumFilesPerTask": "2"}, 1, (2, 1000)),
        # Files are combined into segments: a group is not smaller than a segment.
        ({"desiredSegmentSize": "20"}, 1, (100, 80)),
        ({"desiredSegmentSize": "20"}, 3, (100, 27)),
        ({"desiredSegmentSize": "20"}, 100, (100, 20)),
        ({"desiredSegmentSize": "2000"}, 3, (100, 1000)),
    ],
)
def test_groups_are_sized_so_that_all_slots_get_work(
    changes: dict[str, str], slots: int, expected: tuple[int, int]
) -> None:
    params = make_params(**{"taskMaxDataSize": "1000", **changes})
    assert group_bounds([file(str(n)) for n in range(8)], params, slots) == expected


@pytest.mark.parametrize(("asked", "expected"), [("1000", 500), ("7", 7)])
def test_a_group_has_no_more_files_than_fit_a_znode(asked: str, expected: int) -> None:
    store, _ = make_store()
    files = [file(f"{n:04d}", size=1) for n in range(501)]
    write_groups(
        store, store.create(make_session()), files, make_params(taskMaxNumFilesPerTask=asked), slots=1
    )
    assert len(store.group("s1", 0).entries) == expected


def test_a_group_with_failed_and_skipped_files_counts_them_all() -> None:
    store, _ = make_store()
    entries = (
        FileEntry(0, file("a"), FileStatus.SKIPPED, "x"),
        FileEntry(1, file("b"), FileStatus.FAILED, "y"),
    )
    store.create_group("s1", FileGroup(0, entries))
    session = store.create(make_session(state=SessionState.IN_PROGRESS, groups=1, numbers=2))
    assert write_groups(store, session, [], THREE_A_GROUP, slots=1).files == 2
