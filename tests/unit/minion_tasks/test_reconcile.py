"""Tests each row of the table in the module's docstring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.plan.reconcile import reconcile_group
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, FileStatus, StagedBuild
from tests.unit.minion_tasks.samples import file, segment

PENDING, STAGED, FAILED, SKIPPED = FileStatus


def _listed(*files: FileInfo) -> dict[str, FileInfo]:
    return {each.uri: each for each in files}


def _entry(number: int, name: str, status: FileStatus) -> FileEntry:
    error = "it is broken" if status in (FAILED, SKIPPED) else None
    return FileEntry(number, file(name), status, error, None if status is PENDING else 5)


def _staged_alone(*names: str) -> FileGroup:
    return FileGroup(
        0,
        tuple(_entry(number, name, STAGED) for number, name in enumerate(names)),
        tuple(StagedBuild((number,), (segment(f"s{number}"),)) for number in range(len(names))),
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_staged_file_stays_staged(version: int) -> None:
    group = _staged_alone("a")
    assert reconcile_group(group, _listed(file("a", version))) == group


def test_a_deleted_staged_file_is_dropped_with_its_segments() -> None:
    group = _staged_alone("a", "b")
    now = reconcile_group(group, _listed(file("b")))
    assert (now.entries, now.builds) == (group.entries[1:], group.builds[1:])


def test_files_that_share_a_segment_with_a_deleted_file_are_read_again_in_their_current_version() -> None:
    builds = (StagedBuild((0, 1), (segment("s0"), segment("s0_1"))), StagedBuild((2,), (segment("s2"),)))
    entries = tuple(_entry(number, name, STAGED) for number, name in enumerate("abc"))
    now = reconcile_group(FileGroup(0, entries, builds), _listed(file("b", 2), file("c", 2)))
    assert now.entries == (FileEntry(1, file("b", 2)), entries[2])
    assert now.builds == builds[1:]


@pytest.mark.parametrize("status", [FAILED, PENDING])
@pytest.mark.parametrize("version", [1, 2])
def test_a_file_without_a_result_is_read_in_its_current_version(status: FileStatus, version: int) -> None:
    now = reconcile_group(FileGroup(0, (_entry(3, "a", status),)), _listed(file("a", version)))
    assert now.entries == (FileEntry(3, file("a", version)),)


@pytest.mark.parametrize("status", [FAILED, PENDING, SKIPPED])
def test_a_deleted_file_without_a_result_is_dropped(status: FileStatus) -> None:
    group = FileGroup(0, (_entry(0, "a", status), _entry(1, "b", PENDING)))
    assert reconcile_group(group, _listed(file("b"))).entries == group.entries[1:]


def test_a_skipped_file_stays_skipped_until_it_is_rewritten() -> None:
    group = FileGroup(0, (_entry(0, "a", SKIPPED),))
    assert reconcile_group(group, _listed(file("a"))) == group
    assert reconcile_group(group, _listed(file("a", 2))).entries == (FileEntry(0, file("a", 2)),)


def test_a_group_may_lose_all_its_files() -> None:
    now = reconcile_group(_staged_alone("a", "b"), {})
    assert (now.number, now.entries, now.builds, now.is_settled) == (0, (), (), True)


def test_an_empty_segment_stays() -> None:
    group = FileGroup(1, (), (StagedBuild((), (segment("empty", rows=0),)),), empty_segment=True)
    assert reconcile_group(group, {}) == group


@st.composite
def groups(draw: st.DrawFn) -> FileGroup:
    statuses = draw(st.lists(st.sampled_from(FileStatus), max_size=6))
    builds: list[StagedBuild] = []
    open_build: list[int] = []
    ends = draw(st.lists(st.booleans(), min_size=len(statuses), max_size=len(statuses)))
    for number, (status, is_end) in enumerate(zip(statuses, ends, strict=True)):
        if status is STAGED:
            open_build.append(number)
        if open_build and is_end:
            builds.append(StagedBuild(tuple(open_build), (segment(f"s{open_build[0]}"),)))
            open_build = []
    if open_build:
        builds.append(StagedBuild(tuple(open_build), (segment(f"s{open_build[0]}"),)))
    entries = tuple(_entry(number, f"f{number}", status) for number, status in enumerate(statuses))
    return FileGroup(0, entries, tuple(builds))


versions = st.dictionaries(st.sampled_from([f"f{n}" for n in range(6)]), st.sampled_from([1, 2]))


@given(groups(), versions)
def test_reconciling_is_consistent_and_idempotent(group: FileGroup, source: dict[str, int]) -> None:
    listed = _listed(*(file(name, version) for name, version in source.items()))
    now = reconcile_group(group, listed)
    assert {entry.file.uri for entry in now.entries} == {e.file.uri for e in group.entries} & listed.keys()
    in_builds = [number for build in now.builds for number in build.files]
    assert sorted(in_builds) == [entry.number for entry in now.entries if entry.status is STAGED]
    assert all(entry.status is not FAILED for entry in now.entries)
    assert all(listed[entry.file.uri] == entry.file for entry in now.entries if entry.status is PENDING)
    assert reconcile_group(now, listed) == now
