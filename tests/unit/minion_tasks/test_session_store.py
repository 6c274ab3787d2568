"""The ledger: records survive a round trip, writers do not overwrite each other, two sessions are kept."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_client.errors import ConflictError, FormatVersionError, NotFoundError
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.zookeeper import ZNRecord
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedBuild,
    abandon,
    move,
)
from minion_tasks.file_ingestion.session.records import SESSION_FORMAT
from minion_tasks.file_ingestion.session.store import DamagedSessionError
from tests.unit.minion_tasks.samples import TABLE, file, make_session, make_store, segment

T = TypeVar("T")

ROOT = "/MINION_TASK_METADATA/t_OFFLINE/FileIngestionTask/consistentPush"
CONFIG = f"/CONFIGS/TABLE/{TABLE}"

whole = st.integers(0, 2**40)
texts = st.text(max_size=20)


def built(kind: type[T], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    """Return objects with any value in each field, also in those that have a default."""
    return st.builds(kind, **{each.name: given.get(each.name, ...) for each in fields(kind)})  # type: ignore[arg-type]


sessions = built(
    Session,
    **{each.name: whole for each in fields(Session) if each.type == "int" and each.name != "version"},
    version=st.just(0),
    session_id=st.just("s1"),
    table=st.just(TABLE),
    attempts_ms=st.lists(whole, max_size=4).map(tuple),
    behind=st.dictionaries(texts, whole, max_size=3).map(lambda each: tuple(each.items())),
    message=st.none() | st.text(min_size=1, max_size=1000),
    unknown=st.dictionaries(texts.map("later{}".format), texts, max_size=3),
)


@given(sessions)
@example(make_session(behind=(("Server_a", 2),), version=0))
def test_a_session_survives_the_store(session: Session) -> None:
    store, _ = make_store()
    assert store.create(session) == session
    assert store.load("s1") == session
    saved = store.save(replace(session, retry_count=session.retry_count + 1))
    assert store.load("s1") == saved == store.latest()


def test_state_and_retry_count_are_readable_in_zookeeper() -> None:
    store, memory = make_store()
    store.create(make_session(state=SessionState.IN_PROGRESS, retry_count=2))
    found = memory.get(f"{ROOT}/s1")
    assert found is not None
    assert found.record.simple_fields["state"] == "IN_PROGRESS"
    assert found.record.simple_fields["retryCount"] == "2"


def test_a_release_that_knows_no_rollbacks_refuses_a_table_that_was_rolled_back() -> None:
    store, memory = make_store()
    held = store.create(make_session(restores="s0", held=True))

    def fields() -> dict[str, str]:
        found = memory.get(f"{ROOT}/s1")
        assert found is not None
        return found.record.simple_fields

    with pytest.raises(FormatVersionError, match=r"version 2, but this process .* reads version 1"):
        SESSION_FORMAT.check(fields(), ROOT)
    assert store.load("s1") == held
    store.save(replace(held, held=False))
    assert SESSION_FORMAT.check(fields(), ROOT) == 1


def test_a_long_message_is_truncated() -> None:
    store, _ = make_store()
    created = store.create(make_session(message="x" * 5000))
    assert created.message == "x" * 1000


def test_without_sessions_there_is_no_latest() -> None:
    store, _ = make_store()
    assert (store.ids(), store.latest()) == ([], None)
    with pytest.raises(NotFoundError, match="s1"):
        store.load("s1")


def test_the_latest_is_the_one_whose_id_sorts_last() -> None:
    store, _ = make_store()
    for name in ("s2", "s3", "s1"):
        store.create(make_session(name))
    latest = store.latest()
    assert latest is not None
    assert latest.session_id == "s3"


def test_two_writers_of_a_session_do_not_overwrite_each_other() -> None:
    store, _ = make_store()
    first = store.create(make_session())
    second = store.load("s1")
    store.save(move(first, SessionState.IN_PROGRESS, 7))
    with pytest.raises(ConflictError):
        store.save(abandon(second, "mine", 8))
    assert store.load("s1").state is SessionState.IN_PROGRESS


def test_a_session_is_written_once() -> None:
    store, _ = make_store()
    store.create(make_session())
    with pytest.raises(ConflictError):
        store.create(make_session())


def test_a_session_does_not_outlive_its_table() -> None:
    store, memory = make_store()
    config = ZNRecord(TABLE, {"tableName": TABLE})
    memory.create(CONFIG, config)
    session = store.create(make_session(state=SessionState.SWITCH))
    memory.set(CONFIG, config, expected_version=0)
    assert not store.is_of_dropped_table(session)
    memory.delete(CONFIG)
    assert store.is_of_dropped_table(session)
    memory.create(CONFIG, config)
    assert store.is_of_dropped_table(session)


@pytest.mark.parametrize(("count", "left"), [(0, []), (1, ["s1"]), (2, ["s1", "s2"]), (4, ["s3", "s4"])])
def test_the_last_two_sessions_are_kept_with_all_their_records(count: int, left: list[str]) -> None:
    store, memory = make_store()
    for number in range(1, count + 1):
        store.create(make_session(f"s{number}"))
        store.create_group(f"s{number}", FileGroup(0, (FileEntry(0, file("a")),)))
        store.write_from(f"s{number}", ["x"])
    store.prune()
    assert store.ids() == left
    assert {path.split("/")[5] for path in memory.nodes} == set(left)
    assert len(memory.nodes) == 3 * len(left)


@pytest.mark.parametrize(("versions", "left"), [(1, ["s4", "s5"]), (2, ["s1", "s3", "s4", "s5"])])
def test_sessions_of_versions_are_kept_if_versions_are(versions: int, left: list[str]) -> None:
    store, _ = make_store()
    for session_id in ("s0", "s1", "s2", "s3", "s4", "s5"):
        is_version = session_id in ("s0", "s1", "s3")
        session = make_session(session_id, state=SessionState.DONE if is_version else SessionState.INIT)
        store.create(session if is_version else abandon(session, "why", 9))
    store.prune(versions)
    assert store.ids() == left


def test_a_session_that_holds_the_table_is_kept() -> None:
    store, _ = make_store()
    store.create(make_session("s0", state=SessionState.DONE))
    store.create(replace(make_session("s1", state=SessionState.DONE), held=True))
    for session_id in ("s2", "s3"):
        store.create(abandon(make_session(session_id), "a rollback that was killed", 9))
    store.prune()
    assert store.ids() == ["s1", "s2", "s3"]


def test_a_session_is_deleted_with_all_its_records_and_may_be_deleted_twice() -> None:
    store, memory = make_store()
    store.create(make_session())
    store.create_group("s1", FileGroup(0, ()))
    store.write_from("s1", ["x"])
    store.delete("s1")
    store.delete("s1")
    assert not memory.nodes
    with pytest.raises(NotFoundError):
        store.load("s1")


segments = built(StagedSegment, build_s=st.floats(0, 1e6))
entries = built(FileEntry, error=st.none() | st.text(max_size=1000))
builds = built(StagedBuild, segments=st.lists(segments, max_size=2).map(tuple))
groups = built(
    FileGroup,
    number=st.just(3),
    entries=st.lists(entries, max_size=4).map(tuple),
    builds=st.lists(builds, max_size=3).map(tuple),
)


@given(groups)
def test_a_group_survives_the_store(group: FileGroup) -> None:
    store, _ = make_store()
    store.create_group("s1", group)
    assert store.group("s1", 3) == group
    changed = store.change_group("s1", 3, lambda present: replace(present, entries=()))
    assert store.group("s1", 3) == changed == replace(group, entries=())


def test_a_long_error_is_truncated() -> None:
    store, _ = make_store()
    store.create_group("s1", FileGroup(0, (FileEntry(0, file("a"), FileStatus.FAILED, "x" * 5000),)))
    assert store.group("s1", 0).entries[0].error == "x" * 1000


def test_many_groups_are_read_in_order() -> None:
    store, _ = make_store()
    for number in range(101):
        store.create_group("s1", FileGroup(number, (FileEntry(number, file(f"{number}")),)))
    session = make_session(groups=101)
    assert [group.number for group in store.groups(session)] == list(range(101))
    assert [group.entries[0].number for group in store.groups(session)] == list(range(101))


def test_a_missing_group_is_named() -> None:
    store, _ = make_store()
    store.create_group("s1", FileGroup(0, ()))
    with pytest.raises(DamagedSessionError, match="group 1 is missing"):
        list(store.groups(make_session(groups=2)))
    with pytest.raises(DamagedSessionError, match="group 1 is missing"):
        store.group("s1", 1)
    store.drop_group("s1", 0)
    store.drop_group("s1", 0)
    # A session that was cleared in the meantime is not damaged.
    with pytest.raises(NotFoundError, match="no longer exists"):
        store.group("s1", 0)


def _with_error(group: FileGroup, error: str) -> FileGroup:
    return replace(group, entries=tuple(replace(entry, error=error) for entry in group.entries))


def test_a_change_is_repeated_if_another_writer_was_faster() -> None:
    store, _ = make_store()
    store.create_group("s1", FileGroup(0, (FileEntry(0, file("a")),)))
    seen = []

    def change(group: FileGroup) -> FileGroup:
        seen.append(group.entries[0].error)
        if len(seen) < 3:
            other = _with_error(group, f"other {len(seen)}")
            store.change_group("s1", 0, lambda _present: other)
        return _with_error(group, f"{group.entries[0].error} and mine")

    changed = store.change_group("s1", 0, change)
    assert seen == [None, "other 1", "other 2"]
    assert changed == store.group("s1", 0)
    assert changed.entries[0].error == "other 2 and mine"


def test_an_unchanged_group_is_not_written() -> None:
    store, memory = make_store()
    store.create_group("s1", FileGroup(0, (FileEntry(0, file("a")),)))
    writes = memory.writes
    assert store.change_group("s1", 0, lambda group: group) == store.group("s1", 0)
    assert memory.writes == writes


def test_an_error_in_a_change_leaves_the_group_unchanged() -> None:
    store, memory = make_store()
    store.create_group("s1", FileGroup(0, ()))
    writes = memory.writes

    def change(_: FileGroup) -> FileGroup:
        raise NotFoundError("the session is gone")

    with pytest.raises(NotFoundError, match="the session is gone"):
        store.change_group("s1", 0, change)
    assert memory.writes == writes


@pytest.mark.parametrize(("count", "pages"), [(0, 0), (1, 1), (5000, 1), (5001, 2), (12_000, 3)])
def test_what_a_switch_replaces_is_read_back_in_pages(count: int, pages: int) -> None:
    store, memory = make_store()
    names = [f"flights_20130101T000000000-abcdef_{number:06d}" for number in range(count)]
    assert store.write_from("s1", names) == pages
    assert store.read_from(make_session(from_pages=pages)) == names
    assert max((len(data) for data, _ in memory.nodes.values()), default=0) < 200_000


def test_uncounted_pages_of_a_killed_run_are_rewritten() -> None:
    store, _ = make_store()
    store.write_from("s1", [f"old{number}" for number in range(5001)])
    assert store.write_from("s1", ["new"]) == 1
    assert store.read_from(make_session(from_pages=1)) == ["new"]


def test_a_missing_page_is_named() -> None:
    store, _ = make_store()
    store.create(make_session())
    with pytest.raises(DamagedSessionError, match="page 0 of the segments that it replaces is missing"):
        store.read_from(make_session(from_pages=1))


def test_a_full_group_fits_a_znode_with_room_to_spare() -> None:
    store, memory = make_store()
    folder = "s3://a-bucket-name/some/folder/2013"
    rows = tuple(
        FileEntry(n, FileInfo(f"{folder}/{n:04d}/part-{n:06d}.json.gz", n * 977, n * 991, f"{n * 997:032x}"))
        for n in range(500)
    )
    staged = tuple(
        StagedBuild((n,), (segment(f"flights_20130101T000000000-abcdef_{n:06d}"),)) for n in range(500)
    )
    store.create_group("s1", FileGroup(0, rows, staged))
    assert max(len(data) for data, _ in memory.nodes.values()) < 200_000
