from __future__ import annotations

from itertools import product

import pytest

from controller_client.errors import ConflictError
from minion_tasks.file_ingestion.session.model import (
    ABANDONABLE,
    ALLOWED,
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedBuild,
    abandon,
    move,
)
from tests.unit.minion_tasks.samples import file, make_session, segment


@pytest.mark.parametrize(("before", "after"), list(product(SessionState, SessionState)))
def test_only_allowed_transitions_are_made(before: SessionState, after: SessionState) -> None:
    session = make_session(state=before)
    if after in ALLOWED[before]:
        assert move(session, after, 5).state is after
    else:
        with pytest.raises(ConflictError, match=str(after)):
            move(session, after, 5)


@pytest.mark.parametrize("state", list(SessionState))
def test_a_session_is_abandoned_only_before_its_switch(state: SessionState) -> None:
    session = make_session(state=state)
    assert session.is_open is (state is not SessionState.DONE)
    if state in ABANDONABLE:
        gone = abandon(session, "why", 5)
        assert not gone.is_open
        with pytest.raises(ConflictError, match="abandoned"):
            move(gone, SessionState.IN_PROGRESS, 6)
    else:
        with pytest.raises(ConflictError):
            abandon(session, "why", 5)


def test_a_switch_is_abandoned_only_when_its_entry_was_reverted() -> None:
    session = make_session(state=SessionState.SWITCH)
    assert abandon(session, "why", 5, entry_gone=True).abandoned
    with pytest.raises(ConflictError):
        abandon(make_session(state=SessionState.DONE), "why", 5, entry_gone=True)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], True),
        ([FileStatus.STAGED, FileStatus.SKIPPED], True),
        ([FileStatus.STAGED, FileStatus.FAILED], False),
        ([FileStatus.PENDING], False),
    ],
)
def test_a_group_is_settled_when_no_file_is_left_to_read(statuses: list[FileStatus], expected: bool) -> None:
    entries = tuple(FileEntry(n, file(str(n)), status) for n, status in enumerate(statuses))
    assert FileGroup(0, entries).is_settled is expected


def test_a_group_for_an_empty_segment_is_settled_once_the_segment_is_staged() -> None:
    group = FileGroup(0, (), empty_segment=True)
    assert not group.is_settled
    assert FileGroup(0, (), (StagedBuild((), (segment("s"),)),), empty_segment=True).is_settled


def test_uris_of_a_staged_segment() -> None:
    staged = segment("s0", attempt="ab")
    assert staged.tar_uri == "file:///st/s1/s0.ab.tar.gz"
    assert staged.metadata_uri == "file:///st/s1/s0.ab.metadata.tar.gz"
