"""Fields that a later release has added to a record, within its version, are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.as_code.inventory import Inventory
from controller_client.as_code.objects import ObjectRef
from controller_client.consumption.recipes.plan import read_plan, save
from controller_client.consumption.state.partition_record import note_partitions
from controller_client.consumption.state.pause_record import Holder, change_record, plugin_path
from controller_client.deepstore.reservations import Reservations
from controller_client.upsert.generation import request_rebuild, write_generation
from controller_client.zookeeper import PropertyStore, ZNRecord
from minion_tasks.file_ingestion.run.fired import FiredTriggers, fired_path
from minion_tasks.file_ingestion.session.model import FileGroup, FileStatus
from minion_tasks.file_ingestion.session.store import SessionStore, sessions_path
from tests.unit.fake_clock import FakeClock
from tests.unit.formats.sample import OFFLINE, PLUGINS, PROPERTIES, REALTIME, live_store
from tests.unit.formats.test_formats import FIXTURES, SAMPLES
from tests.unit.formats.znodes import GENERATION, NOW_S, PAUSE, SESSION_ID, control

_SESSION = f"{PROPERTIES}{sessions_path(OFFLINE)}/{SESSION_ID}"


def _pause(store: PropertyStore) -> None:
    change_record(
        store, REALTIME, lambda _: replace(PAUSE, holders={**PAUSE.holders, "third": Holder("it", 7)})
    )


def _plan(store: PropertyStore) -> None:
    plan = read_plan(store, REALTIME)
    assert plan is not None
    save(control(store), plan, step="second")


def _session(store: PropertyStore) -> None:
    sessions = SessionStore(store, OFFLINE)
    sessions.save(replace(sessions.load(SESSION_ID), updated_ms=99))


def _files(store: PropertyStore) -> None:
    def ended(group: FileGroup) -> FileGroup:
        first, second = group.entries
        return replace(group, entries=(first, replace(second, status=FileStatus.SKIPPED, error=None)))

    SessionStore(store, OFFLINE).change_group(SESSION_ID, 0, ended)


CHANGES: dict[str, tuple[str, Callable[[PropertyStore], object]]] = {
    "pause": (PROPERTIES + plugin_path(REALTIME, "pause"), _pause),
    "paused-partitions": (
        PROPERTIES + plugin_path(REALTIME, "partitions"),
        lambda store: note_partitions(store, REALTIME, {0, 1}, Holder("it", 7), [1]),
    ),
    "stopping-servers": (
        f"{PROPERTIES}/PINOT_PLUGINS/stopping_servers",
        lambda store: Reservations(store, FakeClock(NOW_S)).reserve(["Server_b_1"], 30, "it", "1f" * 16),
    ),
    "recipe-plan": (PROPERTIES + plugin_path(REALTIME, "plan"), _plan),
    "as-code-inventory": (
        f"{PROPERTIES}/PINOT_PLUGINS/as_code/us/schemas:t",
        lambda store: Inventory(store, "us").done(ObjectRef.from_key("schemas/t"), "reload"),
    ),
    "upsert-generation": (
        f"{PLUGINS}/upsert/{REALTIME}/generation",
        lambda store: write_generation(store, REALTIME, replace(GENERATION, number=3)),
    ),
    "upsert-rebuild": (
        f"{PLUGINS}/upsert/{REALTIME}/rebuild",
        lambda store: request_rebuild(store, REALTIME, partitions=16),
    ),
    "ingestion-session": (_SESSION, _session),
    "ingestion-files": (f"{_SESSION}/groups/00000", _files),
    "ingestion-trigger": (
        PROPERTIES + fired_path(OFFLINE),
        lambda store: FiredTriggers(store, FakeClock(NOW_S), "other").claim(OFFLINE, NOW_S + 60),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_keeps_the_fields_that_it_does_not_know(name: str) -> None:
    path, change = CHANGES[name]
    record = ZNRecord.from_bytes((FIXTURES / f"{name}.json").read_bytes())
    record.simple_fields["later"] = "kept"
    store = live_store()
    store.connection.create(path, record.to_bytes())
    change(store)
    found = store.connection.get(path)
    assert found is not None
    assert found[1] == 1, "nothing was written"
    now = ZNRecord.from_bytes(found[0])
    assert (now.simple_fields["later"], now.simple_fields["format"]) == ("kept", "1")
    assert replace(now, id=record.id, raw_payload=record.raw_payload) != record


def test_so_do_the_parts_of_a_record() -> None:
    store = live_store()
    pause = ZNRecord.from_bytes((FIXTURES / "pause.json").read_bytes())
    pause.map_fields["airflow"]["later"] = "kept"
    files = ZNRecord.from_bytes((FIXTURES / "ingestion-files.json").read_bytes())
    for part in ("entries", "units"):
        rows = json.loads(files.simple_fields[part])
        rows[0]["later"] = {"kept": True}
        files.simple_fields[part] = json.dumps(rows)
    for name, record in (("pause", pause), ("ingestion-files", files)):
        path, change = CHANGES[name]
        store.connection.create(path, record.to_bytes())
        change(store)
    found = store.get(plugin_path(REALTIME, "pause"))
    assert found is not None
    assert found.record.map_fields["airflow"]["later"] == "kept"
    assert "third" in found.record.map_fields
    changed = store.get(f"{_SESSION.removeprefix(PROPERTIES)}/groups/00000")
    assert changed is not None
    for part in ("entries", "units"):
        assert json.loads(changed.record.simple_fields[part])[0]["later"] == {"kept": True}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("airflow-condition", [(), ("fields",)]),
        ("local-cluster", [(), ("ports",), ("processes", "broker")]),
        ("lock-holder", [()]),
        ("segment-source-files", [()]),
        ("server-checkpoint", [(), ("segments", "t__0__3")]),
        ("state-manifest", [()]),
        ("subtask", [()]),
        ("upsert-settings", [()]),
    ],
)
def test_a_document_is_read_without_the_fields_that_are_not_known(
    name: str, parts: list[tuple[str, ...]], tmp_path: Path
) -> None:
    [sample] = [each for each in SAMPLES if each.file == f"{name}.json"]
    document = json.loads((FIXTURES / sample.file).read_bytes())
    for path in parts:
        part = document
        for key in path:
            part = part[key]
        part["later"] = "x"
    assert sample.read(json.dumps(document).encode(), tmp_path) == sample.value
