from __future__ import annotations

import itertools
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConflictError, SourceError
from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.params.patterns import PathMatcher
from minion_tasks.file_ingestion.plan import planner
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.plan.planner import (
    LeftOut,
    compare,
    group,
    is_same,
    plan_source,
    read_alongside,
    replaced_by,
    select,
    share_out,
)
from minion_tasks.file_ingestion.session.model import IngestionMode
from tests.unit.minion_tasks.samples import file

APPEND, UPDATE = IngestionMode.APPEND, IngestionMode.UPDATE
SYNC, SWAP = IngestionMode.SYNC, IngestionMode.SWAP
FOLDER = "file:///in"
sizes = st.lists(st.integers(0, 1000), max_size=60)


def _files(numbers: list[int]) -> list[FileInfo]:
    return [FileInfo(f"file:///d/{index:03d}", size, 1) for index, size in enumerate(numbers)]


def _contents(segments: dict[str, str], *, foreign: tuple[str, ...] = (), version: int = 1) -> TableContents:
    """A table: maps segments to the letters of their files, all of the same version."""
    return TableContents(
        files={file(name).uri: file(name, version) for names in segments.values() for name in names},
        uris_of={segment: tuple(file(name).uri for name in names) for segment, names in segments.items()},
        foreign=foreign,
    )


def _names(files: tuple[FileInfo, ...]) -> str:
    return "".join(each.uri.rpartition("/")[2] for each in files)


@given(sizes, st.integers(1, 20), st.integers(1, 2000))
def test_every_file_is_in_exactly_one_group_within_the_limits(
    numbers: list[int], max_files: int, max_bytes: int
) -> None:
    source = _files(numbers)
    cut = group(reversed(source), max_files=max_files, max_bytes=max_bytes)
    assert [each for part in cut for each in part] == source
    for part in cut:
        assert 1 <= len(part) <= max_files
        assert len(part) == 1 or sum(each.size_bytes for each in part) <= max_bytes


@given(sizes, st.integers(1, 20), st.integers(1, 2000))
def test_a_group_is_closed_only_when_it_is_full(numbers: list[int], max_files: int, max_bytes: int) -> None:
    cut = group(_files(numbers), max_files=max_files, max_bytes=max_bytes)
    for before, after in pairwise(cut):
        grown = sum(each.size_bytes for each in before) + after[0].size_bytes
        assert len(before) == max_files or grown > max_bytes


@given(sizes, st.none() | st.integers(1, 8))
def test_every_group_is_in_exactly_one_subtask(numbers: list[int], max_tasks: int | None) -> None:
    groups = dict(enumerate(numbers, start=3))
    tasks = share_out(groups, max_tasks)
    assert sorted(number for task in tasks for number in task) == list(groups)
    assert all(tasks)
    assert max_tasks is None or len(tasks) <= max_tasks
    if max_tasks is None or len(numbers) <= max_tasks:
        assert tasks == [(number,) for number in groups]


@given(st.lists(st.integers(1, 1000), min_size=8, max_size=60))
def test_groups_are_distributed_evenly_over_few_subtasks(numbers: list[int]) -> None:
    loads = [sum(numbers[number] for number in task) for task in share_out(dict(enumerate(numbers)), 4)]
    # Largest-first never leaves a subtask more than one group above another.
    assert max(loads) - min(loads) <= max(numbers)


def test_groups_of_empty_files_are_distributed_by_count() -> None:
    assert sorted(len(task) for task in share_out(dict.fromkeys(range(6), 0), 3)) == [2, 2, 2]


def test_compare_returns_new_changed_deleted_and_unchanged() -> None:
    a, b, c = (file(name) for name in "abc")
    b2, new = file("b", version=2), file("new")
    diff = compare([a, b2, new], {each.uri: each for each in (a, b, c)})
    assert (diff.new, diff.changed, diff.deleted, diff.unchanged) == ((new,), (b2,), (c.uri,), (a,))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (FileInfo("f", 10, 1, "aa"), FileInfo("f", 10, 999, "aa"), True),
        (FileInfo("f", 10, 1, "aa"), FileInfo("f", 10, 1, "bb"), False),
        (FileInfo("f", 10, 1, "aa"), FileInfo("f", 11, 1, "aa"), False),
        (FileInfo("f", 10, 1, "aa"), FileInfo("f", 10, 1), True),
        (FileInfo("f", 10, 1), FileInfo("f", 10, 2), False),
        (FileInfo("f", 10, 1), FileInfo("f", 11, 1), False),
    ],
)
def test_etags_decide_if_both_have_one_or_else_size_and_time(
    before: FileInfo, now: FileInfo, expected: bool
) -> None:
    assert is_same(before, now) is expected


def test_a_listing_without_an_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_MOST_FILES", 1000)
    endless = (FileInfo(f"{FOLDER}/{number}", 1, 1) for number in itertools.count())
    with pytest.raises(SourceError, match="lists more than 1,000 files"):
        select(endless, FOLDER, None, PathMatcher("glob:**"))


def test_select_includes_then_excludes_and_counts_excluded_files() -> None:
    files = [file(name) for name in ("a.csv", "b.csv", "c.txt", "d.txt", "e.txt", "f.csv")]
    kept = select(files, FOLDER, PathMatcher("glob:**/*.csv"), PathMatcher("glob:**/b*"))
    assert list(kept.files.values()) == [files[0], files[5]]
    assert kept.by_patterns == LeftOut(4, (files[1], files[2], files[3]))
    assert select(files, FOLDER, None, None).by_patterns == LeftOut()


def test_select_counts_hidden_files_that_the_patterns_do_not_exclude() -> None:
    files = [file(name) for name in ("a.csv", "_SUCCESS", ".a.csv.crc", "_temporary/b.csv")]
    kept = select(files, FOLDER, None, None)
    assert (list(kept.files.values()), kept.hidden) == (files[:1], LeftOut(3, tuple(files[1:])))
    kept = select(files, FOLDER, PathMatcher("glob:**/*.csv"), None)
    assert (kept.by_patterns, kept.hidden) == (LeftOut(2, tuple(files[1:3])), LeftOut(1, (files[3],)))


# The table has a and b in one segment, c in another.
TABLE = _contents({"ab": "ab", "c": "c"})
WITH_FOREIGN = _contents({"c": "c"}, foreign=("theirs",))
ALL = ("ab", "c")


@pytest.mark.parametrize(
    ("mode", "source", "table", "to_read", "replaced"),
    [
        # C is c, rewritten. b is deleted, with which a shares a segment, and d is new.
        (APPEND, "aCd", TABLE, "d", ()),
        (UPDATE, "aCd", TABLE, "cd", ("c",)),
        (UPDATE, "AbC", TABLE, "abc", ALL),
        (SYNC, "aCd", TABLE, "acd", ALL),
        (SWAP, "aCd", TABLE, "acd", ALL),
        # Unchanged files are read by swap only.
        (SYNC, "abcd", TABLE, "d", ()),
        (SWAP, "abcd", TABLE, "abcd", ALL),
        # A deletion alone needs a run, except in append mode.
        (APPEND, "ab", TABLE, "", ()),
        (UPDATE, "ab", TABLE, "", ()),
        (SYNC, "ab", TABLE, "", ("c",)),
        (SWAP, "ab", TABLE, "ab", ALL),
        # Without a difference there is nothing to do.
        (APPEND, "abc", TABLE, "", ()),
        (UPDATE, "abc", TABLE, "", ()),
        (SYNC, "abc", TABLE, "", ()),
        (SWAP, "abc", TABLE, "", ()),
        # Only a swap replaces foreign segments.
        (APPEND, "c", WITH_FOREIGN, "", ()),
        (SYNC, "c", WITH_FOREIGN, "", ()),
        (SWAP, "c", WITH_FOREIGN, "c", ("c", "theirs")),
    ],
)
def test_the_plan_of_each_mode(
    mode: IngestionMode, source: str, table: TableContents, to_read: str, replaced: tuple[str, ...]
) -> None:
    files = [file(name.lower(), version=1 + name.isupper()) for name in source]
    plan = plan_source(mode, files, table)
    assert (_names(plan.to_read), plan.replaced) == (to_read, replaced)
    assert plan.is_nothing == (not to_read and not replaced)


def test_an_update_does_not_lose_the_rows_of_a_deleted_file() -> None:
    lost = "segment ab must be replaced, but it also contains rows of file:///in/b, which is no longer in the"
    with pytest.raises(ConflictError, match=lost):
        plan_source(UPDATE, [file("a", version=2), file("c")], TABLE)
    with pytest.raises(ConflictError, match=lost):
        replaced_by(UPDATE, _uris("a"), _uris("ac"), TABLE)


def test_an_empty_segment_is_replaced_when_files_are_added() -> None:
    table = _contents({"empty": "", "a": "a"})
    assert plan_source(SYNC, [file("a")], table).is_nothing
    assert plan_source(SYNC, [file("a"), file("b")], table).replaced == ("empty",)
    # Only a is replaced: replacing the empty segment would need another one.
    assert plan_source(SYNC, [], table).replaced == ("a",)


def _uris(names: str) -> set[str]:
    return {file(name).uri for name in names}


@pytest.mark.parametrize(
    ("mode", "staged", "listed", "expected"),
    [
        (APPEND, "d", "acd", []),
        (UPDATE, "cd", "cd", ["c"]),
        (UPDATE, "d", "d", []),
        (SYNC, "acd", "acd", ["ab", "c"]),
        (SYNC, "d", "abcd", []),
        (SYNC, "", "ab", ["c"]),
        (SYNC, "c", "abc", ["c"]),
        (SWAP, "d", "abcd", ["ab", "c"]),
        (SWAP, "", "", ["ab", "c"]),
    ],
)
def test_which_segments_staged_files_replace(
    mode: IngestionMode, staged: str, listed: str, expected: list[str]
) -> None:
    assert replaced_by(mode, _uris(staged), _uris(listed), TABLE) == expected


def test_staged_files_replace_foreign_segments_only_in_a_swap() -> None:
    assert replaced_by(SWAP, _uris("c"), _uris("c"), WITH_FOREIGN) == ["c", "theirs"]
    assert replaced_by(SYNC, _uris("c"), _uris("c"), WITH_FOREIGN) == ["c"]


@pytest.mark.parametrize(("staged", "listed"), [("b", "abc"), ("", "ac")])
def test_a_segment_with_rows_that_were_not_read_again_is_not_replaced(staged: str, listed: str) -> None:
    with pytest.raises(ConflictError, match="ab must be replaced, but it also contains rows of file:///in/a"):
        replaced_by(SYNC, _uris(staged), _uris(listed), TABLE)


@pytest.mark.parametrize(
    ("mode", "held", "expected"),
    [
        (APPEND, "a", ""),
        # The segment of a also contains rows of b.
        (SYNC, "a", "ab"),
        (SYNC, "c", "c"),
        (SYNC, "d", ""),
        # Everything is replaced.
        (SWAP, "a", "abcd"),
        (SWAP, "", "abcd"),
    ],
)
def test_files_that_a_session_reads_in_addition_to_those_that_differ(
    mode: IngestionMode, held: str, expected: str
) -> None:
    listed = {each.uri: each for each in map(file, "abcd")}
    assert _names(tuple(read_alongside(mode, _uris(held), listed, TABLE))) == expected


def test_an_empty_segment_stays_until_files_are_added() -> None:
    table = _contents({"empty": "", "a": "a"})
    assert replaced_by(SYNC, _uris("b"), _uris("ab"), table) == ["empty"]
    assert replaced_by(SYNC, set(), _uris(""), table) == ["a"]


names = st.text("abcdef", max_size=6).map(lambda text: "".join(sorted(set(text))))


@given(st.sampled_from([SYNC, SWAP]), st.lists(names, max_size=4), names, st.sampled_from([1, 2]))
def test_a_plan_makes_the_table_match_the_source(
    mode: IngestionMode, segments: list[str], listed: str, version: int
) -> None:
    taken: set[str] = set()
    cut = {}
    for number, segment in enumerate(segments):
        cut[f"s{number}"] = "".join(name for name in segment if name not in taken)
        taken.update(segment)
    table = _contents(cut)
    source = [file(name, version) for name in listed]
    plan = plan_source(mode, source, table)
    staged = {each.uri for each in plan.to_read}
    if not plan.is_nothing:
        assert set(replaced_by(mode, staged, _uris(listed), table)) == set(plan.replaced)
    left = {
        uri: table.files[uri]
        for segment, uris in table.uris_of.items()
        if segment not in plan.replaced
        for uri in uris
    }
    assert not left.keys() & staged
    assert {**left, **{each.uri: each for each in plan.to_read}} == {each.uri: each for each in source}
