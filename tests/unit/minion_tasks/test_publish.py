"""The staged segments of a session, read from its ledger."""

from __future__ import annotations

from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedUnit,
)
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
            (StagedUnit((0,), (segment("s0"), segment("s0_1"))),),
        ),
    )
    store.create_group(
        "s1", FileGroup(1, (FileEntry(2, file("c"), staged),), (StagedUnit((2,), (segment("s2"),)),))
    )
    without_rows = StagedUnit((), (segment("empty", rows=0),))
    store.create_group("s1", FileGroup(2, (), (without_rows,), empty_segment=True))
    publication = Publication.of(store, session)
    # If there are others, the empty segment is not needed.
    assert [each.name for each in publication.segments] == ["s0", "s0_1", "s2"]
    assert publication.staged_uris == {file("a").uri, file("c").uri}
    assert publication.skipped == (file("b").uri,)


def test_an_empty_segment_is_published_only_if_there_is_no_other() -> None:
    store, _ = make_store()
    session = store.create(make_session(state=SessionState.IN_PROGRESS, groups=1))
    without_rows = StagedUnit((), (segment("empty", rows=0),))
    store.create_group("s1", FileGroup(0, (), (without_rows,), empty_segment=True))
    publication = Publication.of(store, session)
    assert [each.name for each in publication.segments] == ["empty"]
    assert publication.staged_uris == frozenset()
