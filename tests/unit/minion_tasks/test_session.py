from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConflictError, NotFoundError
from controller_client.zookeeper import ZNRecord
from minion_tasks.file_ingestion.session import (
    ABANDONABLE,
    ALLOWED,
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedSegment,
    abandon,
    move,
)
from minion_tasks.file_ingestion.session_store import SessionStore
from minion_tasks.filestore import FileInfo
from tests.unit.minion_tasks.memory_store import MemoryPropertyStore


def make_session(session_id: str = "s1", state: SessionState = SessionState.INIT) -> Session:
    return Session(session_id, "t_OFFLINE", state, 1, 1, "me@here:1", "file:///staging/s1", 3, 30, 2)


def make_store() -> tuple[SessionStore, MemoryPropertyStore]:
    memory = MemoryPropertyStore()
    return SessionStore(memory, "t_OFFLINE"), memory  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), list(product(SessionState, SessionState)))
def test_only_the_tables_moves_are_made(before: SessionState, after: SessionState) -> None:
    session = make_session(state=before)
    if after in ALLOWED[before]:
        assert move(session, after, 5).state is after
    else:
        with pytest.raises(ConflictError, match=str(after)):
            move(session, after, 5)


@pytest.mark.parametrize("state", list(SessionState))
def test_a_session_is_abandoned_only_before_its_switch(state: SessionState) -> None:
    session = make_session(state=state)
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


def test_a_session_survives_the_store() -> None:
    store, _ = make_store()
    created = store.create(make_session())
    moved = store.save(move(created, SessionState.IN_PROGRESS, 7))
    assert store.load("s1") == moved
    assert store.latest() == moved


def test_two_writers_of_a_session_do_not_overwrite_each_other() -> None:
    store, _ = make_store()
    first = store.create(make_session())
    second = store.load("s1")
    store.save(move(first, SessionState.IN_PROGRESS, 7))
    with pytest.raises(ConflictError):
        store.save(abandon(second, "mine", 8))
    assert store.load("s1").state is SessionState.IN_PROGRESS


def test_a_session_does_not_outlive_its_table() -> None:
    store, memory = make_store()
    config = ZNRecord("t_OFFLINE", {"tableName": "t_OFFLINE"})
    memory.create("/CONFIGS/TABLE/t_OFFLINE", config)
    session = store.create(make_session(state=SessionState.SWITCH))
    memory.set("/CONFIGS/TABLE/t_OFFLINE", config, expected_version=0)
    assert not store.is_of_dropped_table(session)
    memory.delete("/CONFIGS/TABLE/t_OFFLINE")
    assert store.is_of_dropped_table(session)
    memory.create("/CONFIGS/TABLE/t_OFFLINE", config)
    assert store.is_of_dropped_table(session)


def test_the_last_two_sessions_are_kept_with_their_groups() -> None:
    store, memory = make_store()
    for name in ("s1", "s2", "s3"):
        store.create(make_session(name))
        store.create_group(name, FileGroup(0, (FileEntry(0, FileInfo("file:///a", 1, 1)),)))
    store.prune()
    assert store.ids() == ["s2", "s3"]
    assert not [path for path in memory.nodes if "/s1" in path]
    with pytest.raises(NotFoundError):
        store.load("s1")


segments = st.builds(
    StagedSegment,
    st.text(),
    st.text(),
    st.text(),
    st.integers(),
    st.integers(),
    st.integers(),
    st.floats(0, 1e6),
    st.sampled_from(["arrow", "pinot"]),
    st.none() | st.text(),
)
entries = st.builds(
    FileEntry,
    st.integers(0, 10**6),
    st.builds(FileInfo, st.text(), st.integers(0), st.integers(0), st.none() | st.text()),
    st.sampled_from(FileStatus),
    st.none() | segments,
    st.none() | st.text(max_size=2000),
)


@given(st.lists(entries, max_size=5))
def test_a_group_survives_the_store(rows: list[FileEntry]) -> None:
    store, _ = make_store()
    store.create_group("s1", FileGroup(3, tuple(rows)))
    assert store.group("s1", 3) == FileGroup(3, tuple(rows), version=0)


def test_a_group_of_a_thousand_files_fits_a_znode_with_room_to_spare() -> None:
    store, memory = make_store()
    rows = tuple(
        FileEntry(
            n,
            FileInfo(
                f"s3://a-bucket-name/some/folder/2013/{n:04d}/part-{n:06d}.json.gz",
                n * 977,
                n * 991,
                f"{n:032x}",
            ),
        )
        for n in range(1000)
    )
    store.create_group("s1", FileGroup(0, rows))
    assert max(len(data) for data, _ in memory.nodes.values()) < 200_000
