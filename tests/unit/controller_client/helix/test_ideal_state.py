import json

import pytest

from controller_client.common.names import TableName
from controller_client.errors import DataError, NotFoundError, OutcomeUnknownError, UnreachableError
from controller_client.helix.ideal_state import (
    ConsumptionFlags,
    IdealState,
    PinotPause,
    read_flags,
    read_ideal_state,
    set_paused_partitions,
)
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store

TABLE = TableName("t_REALTIME")
PATH = f"/c/IDEALSTATES/{TABLE}"

SEGMENTS = {
    "t__0__0__20260101T0000Z": {"server_1": "ONLINE", "server_2": "ONLINE"},
    "t__0__1__20260101T0001Z": {"server_2": "CONSUMING", "server_1": "CONSUMING"},
    "t__1__0__20260101T0000Z": {"server_1": "OFFLINE", "server_2": "CONSUMING"},
}


def ideal_state(
    lists: dict[str, list[str]] | None = None, simple: dict[str, str] | None = None
) -> tuple[PropertyStore, MemoryZooKeeper]:
    store, zookeeper = memory_store()
    record = ZNRecord(TABLE, {"REBALANCE_MODE": "CUSTOMIZED", **(simple or {})}, lists or {}, SEGMENTS)
    zookeeper.create(PATH, record.to_bytes())
    return store, zookeeper


def record_of(zookeeper: MemoryZooKeeper) -> ZNRecord:
    return ZNRecord.from_bytes(zookeeper.znodes[PATH][0])


@pytest.mark.parametrize(
    ("simple", "paused"),
    [
        ({}, False),
        ({"isTablePaused": "true"}, True),
        ({"isTablePaused": "TRUE"}, True),
        ({"isTablePaused": "false"}, False),
        ({"isTablePaused": "yes"}, False),
        ({"pauseState": '{"paused": true, "reasonCode": "ADMINISTRATIVE"}'}, True),
        ({"pauseState": '{"paused": false}', "isTablePaused": "false"}, False),
    ],
)
def test_the_flag_of_the_table_is_read_as_pinot_reads_it(simple: dict[str, str], paused: bool) -> None:
    store, _ = ideal_state(simple=simple)
    assert read_flags(store, TABLE) == ConsumptionFlags(paused, frozenset())


@pytest.mark.parametrize("compressed", [False, True])
def test_flags_are_read_without_parsing_if_there_are_none(
    monkeypatch: pytest.MonkeyPatch, compressed: bool
) -> None:
    store, zookeeper = ideal_state({"pausedPartitions": ["1"]})
    listed = record_of(zookeeper)
    plain = ZNRecord(listed.id, {"REBALANCE_MODE": "CUSTOMIZED"}, {}, listed.map_fields)
    zookeeper.znodes[PATH] = (listed.to_bytes(compressed), 0)
    assert read_flags(store, TABLE) == ConsumptionFlags(False, frozenset({1}))
    zookeeper.znodes[PATH] = (plain.to_bytes(compressed), 0)
    monkeypatch.setattr(ZNRecord, "from_bytes", None)
    assert read_flags(store, TABLE) == ConsumptionFlags(False, frozenset())


def test_an_ideal_state_that_cannot_be_unpacked_is_an_error() -> None:
    store, zookeeper = ideal_state()
    zookeeper.znodes[PATH] = (b"\x1f\x8bx", 0)
    with pytest.raises(DataError, match="does not contain a Helix record"):
        read_flags(store, TABLE)


def test_partitions_are_read_whatever_their_order() -> None:
    store, _ = ideal_state({"pausedPartitions": ["3", "0", "12"]})
    assert read_flags(store, TABLE) == ConsumptionFlags(False, frozenset({0, 3, 12}))


@pytest.mark.parametrize("name", ["", "x", "-1", "1.0", "٣"])
def test_an_invalid_list_of_partitions_is_an_error(name: str) -> None:
    store, zookeeper = ideal_state({"pausedPartitions": ["0", name]})
    with pytest.raises(DataError, match="pausedPartitions") as caught:
        read_flags(store, TABLE)
    assert caught.value.where == PATH
    with pytest.raises(DataError):
        set_paused_partitions(store, TABLE, lambda paused: paused | {1})
    assert zookeeper.sets == []


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_an_invalid_pause_state_is_an_error(text: str) -> None:
    store, _ = ideal_state(simple={"pauseState": text})
    with pytest.raises(DataError, match="pauseState"):
        read_flags(store, TABLE)


def test_a_missing_table_is_an_error() -> None:
    store, _ = memory_store()
    for call in (read_flags, read_ideal_state):
        with pytest.raises(NotFoundError, match="no table t_REALTIME"):
            call(store, TABLE)
    with pytest.raises(NotFoundError, match="no table t_REALTIME"):
        set_paused_partitions(store, TABLE, lambda paused: paused)


def test_the_ideal_state_shows_which_segments_consume_and_where() -> None:
    state = json.dumps(
        {"paused": True, "reasonCode": "ADMINISTRATIVE", "comment": "why", "timeInMillis": "2026"}
    )
    store, _ = ideal_state(simple={"pauseState": state, "HELIX_ENABLED": "false"})
    found = read_ideal_state(store, TABLE)
    assert found == IdealState(
        ConsumptionFlags(True, frozenset()),
        PinotPause("ADMINISTRATIVE", "why", "2026"),
        SEGMENTS,
        enabled=False,
        zxid=1,
    )
    assert found.consuming == {
        "t__0__1__20260101T0001Z": ("server_1", "server_2"),
        "t__1__0__20260101T0000Z": ("server_2",),
    }


def test_partitions_are_added_and_removed_and_everything_else_stays() -> None:
    store, zookeeper = ideal_state({"other": ["x"]}, {"isTablePaused": "true"})
    assert set_paused_partitions(store, TABLE, lambda paused: paused | {10, 9}) == {9, 10}
    assert record_of(zookeeper).list_fields == {"other": ["x"], "pausedPartitions": ["9", "10"]}
    assert set_paused_partitions(store, TABLE, lambda paused: paused - {9, 10}) == frozenset()
    record = record_of(zookeeper)
    assert record.list_fields == {"other": ["x"]}
    assert record.map_fields == SEGMENTS
    assert record.simple_fields == {"REBALANCE_MODE": "CUSTOMIZED", "isTablePaused": "true"}


def test_nothing_is_written_when_nothing_changes() -> None:
    store, zookeeper = ideal_state({"pausedPartitions": ["1"]})
    assert set_paused_partitions(store, TABLE, lambda paused: paused | {1}) == {1}
    assert zookeeper.sets == []


def test_after_a_conflict_the_change_is_applied_to_the_new_state() -> None:
    store, zookeeper = ideal_state({"pausedPartitions": ["1"]})
    others = [["1", "2"], ["2"]]

    def somebody_else(path: str) -> None:
        if others:
            record = ZNRecord(TABLE, {}, {"pausedPartitions": others.pop(0)}, {})
            zookeeper.znodes[path] = (record.to_bytes(), zookeeper.znodes[path][1] + 1)

    zookeeper.before_set = somebody_else
    assert set_paused_partitions(store, TABLE, lambda paused: paused | {7}) == {2, 7}
    assert record_of(zookeeper).list_fields == {"pausedPartitions": ["2", "7"]}
    assert len(zookeeper.sets) == 3


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_reply_is_settled_by_reading_back(applied: bool) -> None:
    store, zookeeper = ideal_state()
    lost = [True]

    def lose(path: str) -> None:
        if lost:
            lost.clear()
            if applied:
                record = ZNRecord(TABLE, {}, {"pausedPartitions": ["4"]}, SEGMENTS)
                zookeeper.znodes[path] = (record.to_bytes(), 5)
            raise OutcomeUnknownError("the reply was lost")

    zookeeper.before_set = lose
    assert set_paused_partitions(store, TABLE, lambda paused: paused | {4}) == {4}
    assert read_flags(store, TABLE) == ConsumptionFlags(False, frozenset({4}))
    assert len(zookeeper.sets) == (1 if applied else 2)


def test_a_lost_reply_stays_unknown_while_zookeeper_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    store, zookeeper = ideal_state()

    def away(_path: str) -> None:
        raise UnreachableError("ZooKeeper is away")

    def lose(_path: str) -> None:
        monkeypatch.setattr(zookeeper, "get", away)
        raise OutcomeUnknownError("the reply was lost")

    zookeeper.before_set = lose
    with pytest.raises(OutcomeUnknownError, match="lost"):
        set_paused_partitions(store, TABLE, lambda paused: paused | {4})
