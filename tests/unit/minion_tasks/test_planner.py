from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minion_tasks.file_ingestion.patterns import PathMatcher
from minion_tasks.file_ingestion.planner import compare, group, is_same, segment_name, select
from minion_tasks.filestore import FileInfo

sizes = st.lists(st.integers(0, 1000), max_size=60)


def _files(numbers: list[int]) -> list[FileInfo]:
    return [FileInfo(f"file:///d/{index:03d}", size, 1) for index, size in enumerate(numbers)]


@given(sizes, st.integers(1, 10), st.integers(1, 20), st.integers(1, 2000))
def test_every_file_is_in_exactly_one_group(numbers: list[int], groups: int, files: int, size: int) -> None:
    source = _files(numbers)
    cut = group(source, max_groups=groups, max_files=files, max_bytes=size)
    assert sorted(file.uri for part in cut for file in part) == [file.uri for file in source]
    assert len(cut) <= groups
    assert all(cut)


@given(sizes, st.integers(1, 20), st.integers(1, 2000))
def test_the_bounds_hold_while_groups_are_not_scarce(numbers: list[int], files: int, size: int) -> None:
    for part in group(_files(numbers), max_groups=1000, max_files=files, max_bytes=size):
        assert len(part) <= files
        assert len(part) == 1 or sum(file.size_bytes for file in part) <= size


@given(st.lists(st.integers(1, 1000), min_size=8, max_size=60))
def test_scarce_groups_are_even(numbers: list[int]) -> None:
    cut = group(_files(numbers), max_groups=4, max_files=1, max_bytes=1)
    loads = [sum(file.size_bytes for file in part) for part in cut]
    # Largest-first never leaves a group more than one file above another.
    assert max(loads) - min(loads) <= max(numbers)


def test_compare_tells_new_changed_deleted_and_unchanged() -> None:
    a, b, c = (FileInfo(f"file:///d/{name}", 10, 1) for name in "abc")
    b2 = FileInfo("file:///d/b", 11, 1)
    diff = compare([a, b2, FileInfo("file:///d/new", 1, 1)], {file.uri: file for file in (a, b, c)})
    assert [file.uri for file in diff.new] == ["file:///d/new"]
    assert diff.changed == (b2,)
    assert diff.deleted == ("file:///d/c",)
    assert diff.unchanged == 1


def test_an_etag_decides_where_both_have_one() -> None:
    old = FileInfo("s3://b/x", 10, 1, "aa")
    assert is_same(old, FileInfo("s3://b/x", 10, 999, "aa"))
    assert not is_same(old, FileInfo("s3://b/x", 10, 1, "bb"))
    assert not is_same(FileInfo("f", 10, 1), FileInfo("f", 10, 2))


def test_select_includes_then_excludes() -> None:
    files = [FileInfo(f"file:///d/{name}", 1, 1) for name in ("a.csv", "b.csv", "c.txt")]
    kept = select(files, PathMatcher("glob:**/*.csv"), PathMatcher("glob:**/b*"))
    assert [file.uri for file in kept] == ["file:///d/a.csv"]


def test_segment_names_carry_the_session() -> None:
    assert (
        segment_name("flights", "20130101T000000000-abc123", 7) == "flights_20130101T000000000-abc123_000007"
    )
