"""What is read from the ledger of a session: its staged segments, and the counts of its progress."""

from __future__ import annotations

from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedBuild,
)
from minion_tasks.file_ingestion.session.progress import read_progress
from tests.unit.minion_tasks.samples import file, make_session, make_store, segment


def test_all_segments_of_all_groups_and_their_files() -> None:
    store, _ = make_store()
    session = store.create(make_session(state=SessionState.IN_PROGRESS, groups=3))
    staged = FileStatus.STAGED
    store.create_group(
        "s1",
        FileGroup(
            0,
            (FileEntry(0, file("a"), staged), FileEntry(1, file("b"), FileStatus.SKIPPED, "no header")),
            (StagedBuild((0,), (segment("s0"), segment("s0_1"))),),
        ),
    )
    store.create_group(
        "s1", FileGroup(1, (FileEntry(2, file("c"), staged),), (StagedBuild((2,), (segment("s2"),)),))
    )
    without_rows = StagedBuild((), (segment("empty", rows=0),))
    store.create_group("s1", FileGroup(2, (), (without_rows,), empty_segment=True))
    publication = Publication.of(store, session)
    # If there are others, the empty segment is not needed.
    assert [each.name for each in publication.segments] == ["s0", "s0_1", "s2"]
    assert publication.staged_uris == {file("a").uri, file("c").uri}
    assert publication.skipped == (file("b").uri,)


def test_an_empty_segment_is_published_only_if_there_is_no_other() -> None:
    store, _ = make_store()
    session = store.create(make_session(state=SessionState.IN_PROGRESS, groups=1))
    without_rows = StagedBuild((), (segment("empty", rows=0),))
    store.create_group("s1", FileGroup(0, (), (without_rows,), empty_segment=True))
    publication = Publication.of(store, session)
    assert [each.name for each in publication.segments] == ["empty"]
    assert publication.staged_uris == frozenset()


FILES = tuple(file(f"{n}.csv", size=10 + n) for n in range(5))


def test_a_plan_that_is_still_being_written_may_lack_groups() -> None:
    sessions, _ = make_store()
    session = sessions.create(make_session(groups=2))
    assert read_progress(sessions, session).groups == ()
    sessions.create_group("s1", FileGroup(0, (FileEntry(0, FILES[0]),)))
    assert read_progress(sessions, session).groups == ()


def test_files_rows_and_bytes_of_each_group_and_in_total() -> None:
    sessions, _ = make_store()
    session = sessions.create(make_session(state=SessionState.IN_PROGRESS, groups=2))
    staged = tuple(FileEntry(n, FILES[n], FileStatus.STAGED) for n in range(2))
    bad = FileEntry(2, FILES[2], FileStatus.FAILED, "row 7 is wrong")
    builds = (StagedBuild((0,), (segment("a"), segment("a_1"))), StagedBuild((1,), (segment("b"),)))
    sessions.create_group("s1", FileGroup(0, (*staged, bad), builds))
    sessions.create_group("s1", FileGroup(1, (FileEntry(3, FILES[3]), FileEntry(4, FILES[4]))))
    progress = read_progress(sessions, session)
    first, second = progress.groups
    assert (first.files, first.staged, first.failed, first.rows) == (3, 2, 1, 15)
    assert (first.bytes_read, first.bytes_total, first.first_error) == (21, 33, "row 7 is wrong")
    assert (second.files, second.staged, second.failed, second.rows, second.first_error) == (2, 0, 0, 0, None)
    assert (progress.staged, progress.failed, progress.rows, progress.bytes_read) == (2, 1, 15, 21)
