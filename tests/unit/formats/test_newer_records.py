"""Loops that find a record of a later release log it, leave that item alone, and continue with the others."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.coordinator.generation import read_generation, read_request
from controller_client.coordinator.local.engine import LocalCoordinator
from controller_client.errors import FormatVersionError
from controller_client.helix.table_config import table_config_path
from controller_client.stream.config import StreamConfig
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.record import PartitionProgress, ServerRecord, server_path, write_server
from controller_client.upsert.update_message import UPDATES_FORMAT, VersionEnd, decode, encode_end
from controller_client.zookeeper import PropertyStore, ZNRecord
from minion_tasks.file_ingestion.run.fired import FiredTriggers, fired_path
from minion_tasks.scheduler import Scheduler
from server_hooks.upsert.follower import Follower
from server_hooks.upsert.hook import UpsertHook
from server_hooks.upsert.table_state import TableState
from server_hooks.upsert.updates_log import Message
from server_hooks.upsert.updates_topic import UpdatesTopic
from tests.support.wait import wait_for
from tests.unit.fake_clock import FakeClock
from tests.unit.formats.sample import PLUGINS, PROPERTIES, REALTIME
from tests.unit.formats.test_formats import FIXTURES
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store
from tests.unit.minion_tasks.happenings import Happenings
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
    assert zookeeper.znodes[PROPERTIES + fired_path(bad)] == (data, 0)


def test_a_trigger_is_not_claimed_over_one_of_a_later_release() -> None:
    store, zookeeper = memory_store()
    path = PROPERTIES + fired_path(TableName("t_OFFLINE"))
    data = newer(FIXTURES / "ingestion-trigger.json")
    zookeeper.create(path, data)
    with pytest.raises(FormatVersionError):
        FiredTriggers(store, FakeClock(0.0), "me").claim(TableName("t_OFFLINE"), 5.0)
    assert zookeeper.znodes[path] == (data, 0)


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


class _Topic:
    """A topic with one partition, which has been read to its end."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages

    def partitions(self) -> set[int]:
        return {0}

    def assign(self, offsets: Mapping[int, int]) -> None:
        """It is read from its start."""

    def poll(self, _timeout_s: float) -> dict[int, list[Message]]:
        found, self.messages = self.messages, []
        return {0: found} if found else {}

    def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def _no_guard(_what: str) -> Iterator[None]:
    yield


def test_the_updates_of_a_table_wait_for_a_generation_that_can_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, zookeeper = memory_store()
    path = f"{PLUGINS}/upsert/{REALTIME}/generation"
    zookeeper.create(path, newer(FIXTURES / "upsert-generation.json"))
    looks: list[int] = []

    def first_version() -> int:
        looks.append(1)
        if len(looks) == 2:
            zookeeper.znodes[path] = ((FIXTURES / "upsert-generation.json").read_bytes(), 1)
        generation = read_generation(store, REALTIME)
        assert generation is not None
        return generation.since

    value = encode_end(VersionEnd(12, 0, 0, 1))
    state = TableState(tmp_path, SystemClock())
    told: list[int] = []
    follower = Follower(
        REALTIME,
        state,
        lambda: cast("UpdatesTopic", _Topic([(0, value, decode(value, where="here"))])),
        first_version,
        lambda: told.append(state.mark().version),
        retention_s=1000.0,
        guard=_no_guard,
        clock=SystemClock(),
    )
    follower.start()
    wait_for(lambda: told[-1:] == [12], "the version", _LONG_S)
    follower.stop()
    assert len(sentences(caplog)) == 1


class _KafkaMessage:
    def __init__(self, partition: int, offset: int, value: bytes) -> None:
        self._place, self._value = (partition, offset), value

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def value(self) -> bytes:
        return self._value

    def error(self) -> None:
        return None


class _Consumer:
    """Returns all messages of the given partitions, in turn."""

    def __init__(self, _settings: object) -> None:
        self.messages: list[_KafkaMessage] = []
        self.unassigned: list[int] = []

    def incremental_assign(self, places: list[Any]) -> None:
        for version in range(3):
            for place in places:
                value = encode_end(VersionEnd(version, 0, 0, 1))
                if (place.partition, version) == (0, 1):
                    value = value[:3] + str(UPDATES_FORMAT.version + 1).encode() + value[4:]
                self.messages.append(_KafkaMessage(place.partition, version, value))

    def incremental_unassign(self, places: list[Any]) -> None:
        self.unassigned += [place.partition for place in places]

    def poll(self, _timeout_s: float) -> _KafkaMessage | None:
        return self.messages.pop(0) if self.messages else None

    def consume(self, _count: int, _timeout_s: float) -> list[_KafkaMessage]:
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
    stream = StreamConfig(
        {
            "streamType": "kafka",
            "stream.kafka.topic.name": "t",
            "stream.kafka.broker.list": "127.0.0.1:1",
        }
    )
    topic = UpdatesTopic(stream, "t.updates")
    topic.assign({0: 0, 1: 0})
    found = topic.poll(0.1)
    assert {number: [offset for offset, _, _ in each] for number, each in found.items()} == {
        0: [0],
        1: [0, 1, 2],
    }
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
        return TableState(self._kept / table, SystemClock())


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
