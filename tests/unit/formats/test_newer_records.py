"""Processes of this release next to later ones: loops skip what they cannot read; refusals change nothing."""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.consumption.partitions import resume_partitions
from controller_client.consumption.pauses.resuming import resume
from controller_client.consumption.recipes import recovering
from controller_client.consumption.recipes.change_stream import change_stream
from controller_client.consumption.recipes.draining import drain
from controller_client.consumption.recipes.recovering import recover
from controller_client.consumption.state.partition_record import PartitionReport
from controller_client.consumption.state.pause_record import plugin_path
from controller_client.errors import FormatVersionError
from controller_client.helix.table_config import table_config_path
from controller_client.rest.consumption import ConsumeFrom
from controller_client.rest.segments import SegmentsApi
from controller_client.stream.config import StreamConfig
from controller_client.upsert.generation import Generation, read_generation, read_request
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.record import PartitionProgress, ServerRecord, server_path, write_server
from controller_client.upsert.update_message import UPDATES_FORMAT, VersionEnd, decode, encode_end
from controller_client.zookeeper import PropertyStore, ZNRecord
from key_coordinator.local.engine import LocalCoordinator
from minion_tasks.file_ingestion.run.fired import FiredTriggers, fired_path
from minion_tasks.file_ingestion.session import records
from minion_tasks.file_ingestion.session.model import FileGroup
from minion_tasks.scheduler import Scheduler
from server_hooks.upsert.follower import Follower
from server_hooks.upsert.hook import UpsertHook
from server_hooks.upsert.table_state import UpsertTableState
from server_hooks.upsert.updates_topic import UpdatesReader
from tests.support.wait import wait_for
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, segment
from tests.unit.controller_client.consumption.worlds import World as TableWorld
from tests.unit.fake_clock import FakeClock
from tests.unit.formats.sample import PLUGINS, PROPERTIES, REALTIME
from tests.unit.formats.test_formats import FIXTURES
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store
from tests.unit.minion_tasks.happenings import Happenings
from tests.unit.minion_tasks.samples import make_session, make_store
from tests.unit.minion_tasks.session_world import World
from tests.unit.minion_tasks.test_damaged_sessions import PARAMS, ROOT, assert_serves_the_source, interrupted
from tests.unit.minion_tasks.test_scheduler import Every, Inline

_LONG_S = 60.0


def newer(path: Path) -> bytes:
    """A fixture as a record of the next version."""
    document = json.loads(path.read_bytes())
    document["simpleFields"]["format"] = "2"
    return json.dumps(document).encode()


def sentences(caplog: pytest.LogCaptureFixture, *, level: int = logging.WARNING) -> list[str]:
    found = [record for record in caplog.records if record.levelno >= level]
    return [each.getMessage() for each in found if "of format version 2" in each.getMessage()]


def test_the_scheduler_leaves_the_table_alone_and_runs_the_others(caplog: pytest.LogCaptureFixture) -> None:
    bad, good = TableName("bad_OFFLINE"), TableName("good_OFFLINE")
    store, zookeeper = memory_store()
    data = newer(FIXTURES / "ingestion-trigger.json")
    zookeeper.create(PROPERTIES + fired_path(bad), data)
    stop = threading.Event()
    clock = FakeClock(now=0.0, on_sleep=lambda now_s: stop.set() if now_s >= 35 else None)
    fired = FiredTriggers(store, clock, "me")
    tried: list[TableName] = []
    made: list[float] = []

    def run(table: TableName, scheduled_s: float) -> None:
        tried.append(table)
        assert not fired.was_made(table, scheduled_s)
        assert fired.claim(table, scheduled_s)
        made.append(scheduled_s)

    Scheduler(lambda: {bad: "10", good: "10"}, run, Every, clock, pool=Inline()).serve(stop)
    assert made == [10, 20, 30]
    assert tried.count(bad) == 3, "at its times, and not again and again"
    assert len(sentences(caplog)) == 1
    with pytest.raises(FormatVersionError):
        fired.claim(bad, 50.0)
    assert zookeeper.znodes[PROPERTIES + fired_path(bad)] == (data, 0)


def test_a_run_discards_no_session_of_a_later_release() -> None:
    tried = 0
    for step in range(1, 60):
        world = World()
        try:
            if not interrupted(world, step):
                break
            _run_over_a_later_session(world)
            tried += 1
        finally:
            world.close()
    assert tried > 5


def _run_over_a_later_session(world: World) -> None:
    """Replace the last session by one of a later release, and restore it afterwards."""
    path = f"{ROOT}/{world.sessions.ids()[-1]}"
    data, version = world.store.nodes[path]
    record = ZNRecord.from_bytes(data)
    record.simple_fields["format"] = "2"
    world.store.put(path, record.to_bytes(), version)
    nodes, staged, table = world.store.nodes, dict(world.staged), dict(world.table)
    for _ in range(3):
        with pytest.raises(FormatVersionError):
            world.trigger(PARAMS, Happenings())
    assert (world.store.nodes, world.staged, world.table) == (nodes, staged, table)
    world.store.put(path, data, version)
    world.trigger(PARAMS, Happenings())
    assert_serves_the_source(world)


def _server(zookeeper: MemoryZooKeeper, name: str) -> None:
    for folder, fields in (("LIVEINSTANCES", {"SESSION_ID": "s"}), ("CONFIGS/PARTICIPANT", {})):
        zookeeper.create(f"/c/{folder}/{name}", ZNRecord(name, fields).to_bytes())


def test_a_server_with_a_record_of_a_later_release_holds_the_mark(caplog: pytest.LogCaptureFixture) -> None:
    store, zookeeper = memory_store()
    store.create(table_config_path(REALTIME), ZNRecord(REALTIME))
    created = store.creation_order(table_config_path(REALTIME))
    assert created is not None
    view = ZNRecord(REALTIME, map_fields={"t__0__0__x": {"A": "ONLINE", "B": "ONLINE"}})
    zookeeper.create(f"/c/EXTERNALVIEW/{REALTIME}", view.to_bytes())
    for name in ("A", "B"):
        _server(zookeeper, name)
        record = ServerRecord(name, "s", 9, 9, {0: PartitionProgress(None, 1, 9)}, created=created)
        write_server(store, REALTIME, record)
    assert read_mark(store, REALTIME).version == 9
    path = server_path(store, REALTIME, "B")
    document = json.loads(zookeeper.znodes[path][0])
    document["simpleFields"]["format"] = "2"
    zookeeper.znodes[path] = (json.dumps(document).encode(), 1)
    for _ in range(3):
        found = read_mark(store, REALTIME)
        assert (found.version, found.silent) == (-1, ("B",))
    assert len(sentences(caplog)) == 1


def test_a_request_of_a_later_release_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    store, zookeeper = memory_store()
    table = TableName("asked_REALTIME")
    zookeeper.create(f"{PLUGINS}/upsert/{table}/rebuild", newer(FIXTURES / "upsert-rebuild.json"))
    assert [read_request(store, table) for _ in range(3)] == [None, None, None]
    assert len(sentences(caplog)) == 1


class _Stop(threading.Event):
    """Does not wait, and counts the requested waits."""

    waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert timeout > 0
        self.waits += 1
        return self.is_set()


class _Standby(LocalCoordinator):
    """Cannot read what the leader's release writes, until the lock is free."""

    def __init__(self, store: PropertyStore, notes: list[str]) -> None:
        self._note = notes.append
        self._store = store
        self.looks = 0

    def _follow_until_free(self, stop: threading.Event) -> bool:
        self.looks += 1
        if self.looks < 4:
            read_generation(self._store, REALTIME)
        return True


def test_a_coordinator_stays_a_standby() -> None:
    store, zookeeper = memory_store()
    zookeeper.create(f"{PLUGINS}/upsert/{REALTIME}/generation", newer(FIXTURES / "upsert-generation.json"))
    notes: list[str] = []
    stop = _Stop()
    assert _Standby(store, notes).stand_by(stop)
    assert stop.waits == 3
    assert len(notes) == 1
    assert "of format version 2" in notes[0]


def test_the_updates_of_a_table_wait_for_a_generation_that_can_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, zookeeper = memory_store()
    path = f"{PLUGINS}/upsert/{REALTIME}/generation"
    zookeeper.create(path, newer(FIXTURES / "upsert-generation.json"))
    looks: list[int] = []

    def generation() -> Generation | None:
        looks.append(1)
        if len(looks) == 2:
            zookeeper.znodes[path] = ((FIXTURES / "upsert-generation.json").read_bytes(), 1)
        return read_generation(store, REALTIME)

    value = encode_end(VersionEnd(12, 0, 0, 1))
    state = UpsertTableState(tmp_path, SystemClock())
    told: list[int] = []
    message = {0: [(0, value, decode(value, where="here"))]}
    # A topic with one partition, which is then at its end.
    polled = itertools.chain([message], itertools.repeat({}))
    topic = mock.Mock(**{"partitions.return_value": {0}, "poll.side_effect": polled, "holes": {}})
    follower = Follower(
        REALTIME,
        state,
        lambda: topic,
        generation,
        lambda: told.append(state.mark().version),
        dict,
        guard=lambda _what: nullcontext(),
        clock=SystemClock(),
    )
    follower.start()
    wait_for(lambda: told[-1:] == [12], "the version", _LONG_S)
    follower.stop()
    assert len(sentences(caplog)) == 1


class _Consumer:
    """Returns all messages of the given partitions, in turn."""

    def __init__(self, _settings: object) -> None:
        self.messages: list[mock.Mock] = []
        self.unassigned: list[int] = []

    def incremental_assign(self, places: list[Any]) -> None:
        for version, place in itertools.product(range(3), places):
            value = encode_end(VersionEnd(version, 0, 0, 1))
            if (place.partition, version) == (0, 1):
                value = value[:3] + str(UPDATES_FORMAT.version + 1).encode() + value[4:]
            answers = {"partition": place.partition, "offset": version, "value": value, "error": None}
            self.messages.append(
                mock.Mock(**{f"{name}.return_value": each for name, each in answers.items()})
            )

    def incremental_unassign(self, places: list[Any]) -> None:
        self.unassigned += [place.partition for place in places]

    def poll(self, _timeout_s: float) -> mock.Mock | None:
        return self.messages.pop(0) if self.messages else None

    def consume(self, _count: int, _timeout_s: float) -> list[mock.Mock]:
        found, self.messages = self.messages, []
        return found


def test_a_partition_is_read_up_to_the_first_message_of_a_later_release(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[_Consumer] = []

    def consumer(settings: object) -> _Consumer:
        made.append(_Consumer(settings))
        return made[0]

    monkeypatch.setattr("confluent_kafka.Consumer", consumer)
    place = {"stream.kafka.topic.name": "t", "stream.kafka.broker.list": "127.0.0.1:1"}
    topic = UpdatesReader(StreamConfig({"streamType": "kafka", **place}), "t.updates")
    topic.assign({0: 0, 1: 0})
    found = topic.poll(0.1)
    offsets = {number: [offset for offset, _, _ in each] for number, each in found.items()}
    assert offsets == {0: [0], 1: [0, 1, 2]}
    assert made[0].unassigned == [0]
    assert topic.poll(0.1) == {}
    assert len(sentences(caplog)) == 1


class _Hook(UpsertHook):
    """A server whose tables are those of a store; this release cannot read the local data of one of them."""

    def __init__(self, store: PropertyStore, folder: Path) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tables, self._created = {}, {}
        self._kept = folder
        self.made: list[TableName] = []

    def _make(self, table: TableName, created: int) -> Any:
        self.made.append(table)
        return UpsertTableState(self._kept / table, SystemClock())


def test_a_server_keeps_its_other_tables_up_to_date(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, _ = memory_store()
    bad, good = TableName("bad_REALTIME"), TableName("good_REALTIME")
    for table in (bad, good):
        store.create(table_config_path(table), ZNRecord(table))
    (tmp_path / bad).mkdir()
    checkpoint = tmp_path / bad / "checkpoint.json"
    checkpoint.write_text('{"format": 2, "segments": {}}')
    hook = _Hook(store, tmp_path)
    for _ in range(3):
        assert hook._updater(bad) is None  # what its thread calls
        assert hook._updater(good) is not None
    assert hook.made == [bad, good]
    assert len(sentences(caplog)) == 1
    assert checkpoint.read_text() == '{"format": 2, "segments": {}}'


def _ignored(_line: str) -> None:
    """Ignores the steps of a recipe."""


COMMANDS: dict[str, Callable[[TableWorld], object]] = {
    "resume": lambda world: resume(world.control, wait=False),
    "resume from offsets": lambda world: resume(world.control, consume_from={0: 5}, wait=False),
    "recover": lambda world: recover(world.control, timeout_s=1, report=_ignored),
    "drain": lambda world: drain(world.control, until={0: 20}, timeout_s=1, report=_ignored),
    "change-stream": lambda world: change_stream(
        world.control, {"a": "b"}, consume_from=ConsumeFrom.SMALLEST, timeout_s=1, report=_ignored
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_that_a_later_release_has_paused_is_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = TableWorld()
    world.ideal({segment(0, 0): "ONLINE"}, paused=True)
    world.committed(0, 0, 0, 10)
    world.store.create(plugin_path(TABLE, "pause"), ZNRecord("pause", {"format": "2", "foreign": "false"}))
    resets: list[str] = []
    monkeypatch.setattr(recovering, "failed_segments", lambda _control: [segment(0, 0)])
    monkeypatch.setattr(SegmentsApi, "reset", lambda _self, _table, name: resets.append(name))
    before = dict(world.zookeeper.znodes)
    with pytest.raises(FormatVersionError, match=r"who paused a table .* is of format version 2"):
        COMMANDS[name](world)
    assert world.zookeeper.znodes == before
    assert resets == []


def test_partitions_that_a_server_of_a_later_release_holds_stay_paused() -> None:
    world = TableWorld()
    world.ideal({segment(0, 0): "CONSUMING"})
    state = ZNRecord.from_bytes(world.zookeeper.znodes[IDEAL_PATH][0])
    state.list_fields["pausedPartitions"] = ["0"]
    world.zookeeper.znodes[IDEAL_PATH] = (state.to_bytes(), 1)
    report = PartitionReport("Server_s_1", "session", {TABLE: {0: segment(0, 0)}}).to_record()
    report.simple_fields["format"] = "2"
    world.zookeeper.create("/c/PINOT_PLUGINS/servers/Server_s_1", report.to_bytes())
    before = dict(world.zookeeper.znodes)
    with pytest.raises(FormatVersionError, match=r"a server's report .* is of format version 2"):
        resume_partitions(world.control, [0])
    assert world.zookeeper.znodes == before


def test_a_minion_of_a_later_release_leaves_the_files_of_a_run_as_that_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions, store = make_store()
    sessions.create(make_session())
    sessions.create_group("s1", FileGroup(0, ()))

    def version_of(number: int) -> str:
        found = store.get(
            f"/MINION_TASK_METADATA/t_OFFLINE/FileIngestionTask/consistentPush/s1/groups/{number:05d}"
        )
        assert found is not None
        return found.record.simple_fields["format"]

    monkeypatch.setattr(records, "GROUP_FORMAT", replace(records.GROUP_FORMAT, version=2))
    sessions.change_group("s1", 0, lambda group: replace(group, empty_segment=True))
    sessions.create_group("s1", FileGroup(1, ()))
    assert (version_of(0), version_of(1)) == ("1", "2")
    monkeypatch.undo()
    assert sessions.group("s1", 0).empty_segment
