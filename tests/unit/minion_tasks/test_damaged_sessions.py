"""Damaged session records: reported by readers, discarded by runs, cleared without being read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.zookeeper import ZNRecord, record
from minion_tasks.file_ingestion.engine.staging import TableStaging, is_below
from minion_tasks.file_ingestion.run.preview import FirstAction, preview, preview_clear
from minion_tasks.file_ingestion.run.types import RunOutcome, RunTools
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedBuild,
)
from minion_tasks.file_ingestion.session.naming import is_session_id
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore, sessions_path
from tests.unit.memory_zookeeper import MemoryPropertyStore
from tests.unit.minion_tasks.happenings import STAGING, Happenings, ProcessDiedError, rows_of
from tests.unit.minion_tasks.life import SYNC
from tests.unit.minion_tasks.samples import TABLE, file, make_params, make_session, make_store, segment
from tests.unit.minion_tasks.session_world import World
from tests.unit.minion_tasks.world_stores import WorldStores

ROOT = sessions_path(TABLE)
SESSION, GROUP, PAGE = f"{ROOT}/s1", f"{ROOT}/s1/groups/00000", f"{ROOT}/s1/from/00000"

_LIMIT_BYTES = 1_000_000

Damage = Callable[[bytes], bytes]


def field(name: str, value: str | None) -> Damage:
    """Set or remove a simple field of the record."""

    def damage(data: bytes) -> bytes:
        found = ZNRecord.from_bytes(data)
        found.simple_fields.pop(name)
        if value is not None:
            found.simple_fields[name] = value
        return found.to_bytes()

    return damage


ANY: dict[str, Damage] = {
    "nothing": lambda _data: b"",
    "garbage": lambda _data: b"\x00\xff garbage",
    "half of it": lambda data: data[: len(data) // 2],
    "broken JSON": lambda data: gzip.decompress(data)[:-2] if data[:2] == b"\x1f\x8b" else data[:-2],
    "another document": lambda _data: b"[1, 2, 3]",
    "no record": lambda _data: b'{"id": "x"}',
    "too deep": lambda _data: b"[" * 100_000,
    "a bomb": lambda _data: gzip.compress(b" " * (2 * _LIMIT_BYTES)),
}
OF_SESSION: dict[str, Damage] = {
    **ANY,
    "unknown state": field("state", "PAUSED"),
    "no state": field("state", None),
    "no count": field("groups", "many"),
    "negative count": field("fromPages", "-1"),
    "odd boolean": field("atomic", "yes"),
}
OF_GROUP: dict[str, Damage] = {
    **ANY,
    "no list": field("entries", '{"a": 1}'),
    "no entries": field("entries", None),
    "unknown status": field("entries", '[{"n": 0, "f": ["a", 1, 2, null], "status": "lost"}]'),
    "a number for a name": field("entries", '[{"n": 0, "f": [1, 1, 2, null]}]'),
    "a text for a number": field("entries", '[{"n": "0", "f": ["a", 1, 2, null]}]'),
    "a short row": field("units", '[{"files": [0], "segments": [["name", "uri"]]}]'),
    "an odd note of a column": field(
        "units", '[{"files": [0], "segments": [], "columns": [["c", 1, 2, 3]]}]'
    ),
    "a wrong type": field(
        "units", '[{"files": [0], "segments": [["n", "u", "crc", 1, 1, 1, 0.1, "arrow", null]]}]'
    ),
}
OF_PAGE: dict[str, Damage] = {
    **ANY,
    "no names": field("segments", "[1, 2]"),
    "no field": field("segments", None),
}
CASES = [
    (path, name, damage)
    for path, damages in ((SESSION, OF_SESSION), (GROUP, OF_GROUP), (PAGE, OF_PAGE))
    for name, damage in damages.items()
]


def written() -> tuple[SessionStore, MemoryPropertyStore]:
    """A session with a staged file and a segment that it replaces."""
    store, memory = make_store()
    staged = FileEntry(0, file("a"), FileStatus.STAGED)
    store.create(make_session(state=SessionState.SWITCH, groups=1, from_pages=1))
    store.create_group("s1", FileGroup(0, (staged,), (StagedBuild((0,), (segment("x"),)),)))
    store.write_from("s1", ["old"])
    return store, memory


def read_all(store: SessionStore) -> None:
    session = store.load("s1")
    list(store.groups(session))
    store.read_from(session)


@pytest.mark.parametrize(
    ("path", "name", "damage"), CASES, ids=[f"{path[66:]}: {name}" for path, name, _ in CASES]
)
def test_a_damaged_record_is_named(
    path: str, name: str, damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_LARGEST_PLAIN_BYTES", _LIMIT_BYTES)
    store, memory = written()
    read_all(store)
    data, version = memory.nodes[path]
    memory.put(path, damage(data), version)
    with pytest.raises(DamagedSessionError) as caught:
        read_all(store)
    assert caught.value.where == path
    assert "session s1 of t_OFFLINE is damaged" in str(caught.value)
    assert "pinotctl task session clear t_OFFLINE" in str(caught.value)
    assert store.ids() == ["s1"]
    store.delete("s1")
    assert memory.nodes == {}


@given(data=st.data())
def test_random_damage_is_reported_or_harmless(data: st.DataObject) -> None:
    store, memory = written()
    path = data.draw(st.sampled_from([SESSION, GROUP, PAGE]))
    text, version = memory.nodes[path]
    plain = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
    at = data.draw(st.integers(0, len(plain) - 1))
    put = data.draw(st.binary(max_size=3))
    memory.put(path, plain[:at] + put + plain[at + data.draw(st.integers(0, 3)) :], version)
    try:
        read_all(store)
    except DamagedSessionError:
        return
    assert json.loads(memory.nodes[path][0])


PARAMS = make_params(outputDirURI=STAGING, taskMaxNumFilesPerTask="1", **SYNC)


def interrupted(world: World, step: int) -> bool:
    """Ingest two files, then kill the run that is to replace both; return whether it was killed."""
    world.source.update(a=1, b=2)
    world.trigger(PARAMS, Happenings())
    world.source.update(a=3, b=5)
    try:
        world.trigger(PARAMS, Happenings(run_dies_at=step))
    except ProcessDiedError:
        return True
    return False


def damage_part(world: World, part: str) -> bool:
    """Damage a part of the last session; return whether the part exists."""
    path = f"{ROOT}/{world.sessions.ids()[-1]}{part}"
    if path not in world.store.nodes:
        return False
    world.store.put(path, b"damaged", world.store.nodes[path][1])
    return True


def assert_serves_the_source(world: World) -> None:
    seen = sorted(row for content in world.table.values() for row in content.rows)
    assert seen == sorted(row for each in world.source.items() for row in rows_of(*each))
    assert world.open_entry is None


@pytest.mark.parametrize("part", ["", "/groups/00000", "/groups/00001", "/from/00000"])
def test_the_next_run_succeeds_wherever_the_previous_one_was_killed(part: str) -> None:
    tried = 0
    for step in range(1, 60):
        with closing(World()) as world:
            if not interrupted(world, step):
                break
            tried += damage_part(world, part)
            report = world.trigger(PARAMS, Happenings())
            assert report.outcome in (RunOutcome.SWITCHED, RunOutcome.NOTHING_NEW, RunOutcome.SWITCH_FINISHED)
            assert_serves_the_source(world)
            assert world.trigger(PARAMS, Happenings()).outcome is RunOutcome.NOTHING_NEW
            assert world.staged == {}
    assert tried > 5


def test_two_damaged_sessions_are_both_discarded(world: World) -> None:
    assert interrupted(world, 12)
    for path in list(world.store.nodes):
        if path.startswith(ROOT):
            world.store.put(path, b"damaged", 0)
    assert world.trigger(PARAMS, Happenings()).outcome is RunOutcome.SWITCHED
    assert_serves_the_source(world)
    assert len(world.sessions.ids()) == 1


def test_a_foreign_znode_among_the_sessions_is_discarded(world: World) -> None:
    world.source.update(a=1)
    world.store.create(f"{ROOT}/zzz", ZNRecord("zzz"))
    assert world.trigger(PARAMS, Happenings()).outcome is RunOutcome.SWITCHED
    assert [is_session_id(each) for each in world.sessions.ids()] == [True]
    assert not is_session_id("zzz")


def test_clearing_does_not_read_damaged_records(world: World) -> None:
    assert interrupted(world, 12)
    assert damage_part(world, "")
    clearing = replace(PARAMS, clear_state=True)
    assert world.trigger(clearing, Happenings()).outcome is RunOutcome.SWITCHED
    assert_serves_the_source(world)


@pytest.mark.parametrize("part", ["", "/groups/00000"])
def test_a_preview_of_a_damaged_session(world: World, part: str) -> None:
    assert interrupted(world, 12)
    assert damage_part(world, part)
    client: Any = SimpleNamespace(lineage=SimpleNamespace(list=lambda _table: []))
    store: Any = world.store
    latest = world.sessions.ids()[-1]
    params = replace(PARAMS, stores=WorldStores(world))
    found = preview(RunTools(client, store, world, world.clock), world.sessions, params, TABLE)
    assert found.next.action is FirstAction.DISCARD
    assert found.next.sentence(PARAMS).startswith(f"starts over: the record of session {latest} is damaged")
    assert len(found.to_read) == 2
    cleared = [each.state for each in preview_clear(client, world.sessions)]
    assert cleared == ["DONE", "IN_PROGRESS" if part else "damaged"]


@pytest.mark.parametrize("middle", [f"{'a' * 32}/", ""])
def test_only_a_sessions_own_folder_is_deleted(middle: str) -> None:
    """The folder named in the record is not trusted."""
    staging = TableStaging("s3://bucket/x/pinot-plugins-staging", "a" * 32, TABLE)
    own = f"s3://bucket/x/pinot-plugins-staging/{middle}{TABLE}/s1"
    assert staging.is_session_folder(own, "s1")
    assert staging.is_session_folder(own.replace("bucket", "earlier"), "s1")
    for other in ("s3://bucket/x", "file:///", own + "/..", own.replace("s1", "s2"), f"/{TABLE}/s1", ""):
        assert not staging.is_session_folder(other, "s1")
    assert not staging.is_session_folder(f"{staging.root}/{'b' * 32}/{TABLE}/s1", "s1")


@pytest.mark.parametrize(
    ("uri", "folder", "expected"),
    [
        ("s3://b/out/x.csv", "s3://b/out", True),
        ("s3://b/out/", "s3://b/out", True),
        ("s3://b/out", "s3://b/out/", True),
        ("s3://b/outer/x.csv", "s3://b/out", False),
        ("s3://b/", "s3://b/out", False),
        ("s3://other/out/x", "s3://b/out", False),
        ("/out/x", "file:///out", True),
        ("file:///out/x", "file:/out/", True),
        ("/out/x", "s3://out", False),
    ],
)
def test_uris_in_a_folder(uri: str, folder: str, expected: bool) -> None:
    assert is_below(uri, folder) is expected
