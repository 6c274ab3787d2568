"""Pauses by Pinot itself and of single topics, and tables with Pinot's own upsert or dedup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller_client.consumption import ConsumeFrom, PartitionState, TableState, pause, resume
from controller_client.consumption.recipes.change_stream import change_stream
from controller_client.consumption.recipes.draining import drain
from controller_client.consumption.recipes.recovering import recover
from controller_client.consumption.state.own_upsert import upsert_warnings
from controller_client.consumption.state.pause_record import Holder, PauseRecord, change_record, read_record
from controller_client.consumption.state.status import Observation, assess
from controller_client.errors import ConflictError, RejectedError
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import read_partitions
from controller_client.models import TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import OffsetRange
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, World, segment

# As Pinot 1.5.1 writes it.
BY_QUOTA = (
    '{"paused":true,"reasonCode":"STORAGE_QUOTA_EXCEEDED","comment":"Storage quota of 1K exceeded.",'
    '"indexOfInactiveTopics":[],"timeInMillis":"2026-11-23 15:01:02.345"}'
)
BY_A_FULL_DISK = BY_QUOTA.replace("STORAGE_QUOTA_EXCEEDED", "RESOURCE_UTILIZATION_LIMIT_EXCEEDED")
BY_SOMEBODY = BY_QUOTA.replace("STORAGE_QUOTA_EXCEEDED", "ADMINISTRATIVE")
TOPIC_1 = (
    '{"paused":false,"reasonCode":"ADMINISTRATIVE","comment":null,"indexOfInactiveTopics":[1],'
    '"timeInMillis":"2026-11-23 15:01:02.345"}'
)


QUIETLY: dict[str, Any] = {"timeout_s": 1, "report": lambda _line: None}


def world_of(pause_state: str, segments: dict[str, str]) -> tuple[World, IdealState]:
    """A table with this pause state, and segments by their states on one server."""
    world = World()
    simple = {"pauseState": pause_state, "isTablePaused": str('"paused":true' in pause_state).lower()}
    record = ZNRecord(TABLE, simple, map_fields={name: {"s1": state} for name, state in segments.items()})
    world.zookeeper.znodes[IDEAL_PATH] = (record.to_bytes(), 0)
    return world, world.control.ideal()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (BY_QUOTA, "raise quota.storage in the table's config; Pinot then resumes the table"),
        (BY_A_FULL_DISK, "make room on the disks"),
        (BY_QUOTA.replace("STORAGE_QUOTA_EXCEEDED", "WHAT_COMES_LATER"), "see the controller's log"),
    ],
)
def test_what_pinot_paused_is_not_resumed_by_others(state: str, words: str) -> None:
    world, ideal = world_of(state, {segment(0, 0): "ONLINE"})
    world.committed(0, 0, 0, 5)
    assert ideal.pinot_pause is not None
    assert ideal.pinot_pause.is_pinots_own
    before = dict(world.zookeeper.znodes)
    for call in (
        lambda: resume(world.control),
        lambda: resume(world.control, consume_from={0: 5}),
        lambda: recover(world.control, **QUIETLY),
        lambda: drain(world.control, until={0: 5}, **QUIETLY),
    ):
        expected = r"Pinot itself has paused t_REALTIME: .*Storage quota of 1K"
        with pytest.raises(RejectedError, match=expected) as error:
            call()
        assert words in str(error.value)
    assert world.zookeeper.znodes == before, "nothing was changed"


def test_a_pause_leaves_pinots_own_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    world, _ = world_of(BY_QUOTA, {segment(0, 0): "ONLINE"})
    before = world.zookeeper.znodes[IDEAL_PATH]
    # The controller is not reachable: a call to it would fail.
    assert not pause(world.control, wait=False)
    assert "is paused by Pinot itself (STORAGE_QUOTA_EXCEEDED)" in caplog.text
    assert world.zookeeper.znodes[IDEAL_PATH] == before


def test_a_pause_by_a_user_is_not_one_by_pinot() -> None:
    _, ideal = world_of(BY_SOMEBODY, {})
    assert ideal.pinot_pause is not None
    assert not ideal.pinot_pause.is_pinots_own
    assert ideal.paused_topics == frozenset()


def two_topics() -> tuple[World, Observation]:
    """A table with two topics: the first is consuming, the second is paused."""
    world, ideal = world_of(TOPIC_1, {segment(0, 1): "CONSUMING", segment(10_000, 0): "ONLINE"})
    world.committed(0, 0, 0, 10)
    world.open(0, 1, 10)
    world.committed(10_000, 0, 0, 7)
    streams = tuple(
        StreamConfig({"streamType": "kafka", "stream.kafka.topic.name": name}) for name in ("first", "second")
    )
    seen = Observation(
        ideal=ideal,
        partitions=read_partitions(world.store, TABLE),
        view={segment(0, 1): {"s1": "CONSUMING"}, segment(10_000, 0): {"s1": "ONLINE"}},
        progress={},
        stream={0: OffsetRange(0, 12), 10_000: OffsetRange(0, 9)},
        stream_problem=None,
        record=None,
        streams=streams,
    )
    return world, seen


def test_a_topic_that_is_paused_separately() -> None:
    _, seen = two_topics()
    status = assess(TABLE, seen)
    assert [each.state for each in status.partitions] == [PartitionState.CONSUMING, PartitionState.PAUSED]
    assert (status.state, status.paused_topics) == (TableState.CONSUMING, {1: "second"})
    still = {**seen.ideal.segments, segment(10_000, 0): {"s1": "CONSUMING"}}
    halfway = assess(TABLE, replace(seen, ideal=replace(seen.ideal, segments=still)))
    assert halfway.partitions[1].state is PartitionState.COMMITTING
    assert halfway.state is TableState.INCOMPLETE


def test_a_resume_of_the_table_leaves_a_paused_topic_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    world, seen = two_topics()
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: dict(seen.view))
    assert not resume(world.control, timeout_s=1).changed


def test_recipes_that_need_a_topic_are_refused_while_it_is_paused() -> None:
    world, _ = two_topics()
    for number in (0, 10_000):
        world.open(number, 7, 5)
    remedy = "POST /tables/t_REALTIME/resumeTopicConsumption.topicIndices=1 to the controller"
    with pytest.raises(ConflictError, match="would never be read to their end") as drained:
        drain(world.control, until={0: 12, 10_000: 9}, **QUIETLY)
    topic = {"stream.kafka.topic.name": "x"}
    with pytest.raises(ConflictError, match="the topic of t_REALTIME is paused separately") as changed:
        change_stream(world.control, topic, consume_from=ConsumeFrom.SMALLEST, **QUIETLY)
    for error in (drained, changed):
        assert remedy.replace(".topic", "?topic") in str(error.value)


def test_offsets_of_a_paused_topic_are_refused() -> None:
    world, _ = world_of(
        TOPIC_1.replace('"paused":false', '"paused":true'),
        {segment(0, 0): "ONLINE", segment(10_000, 0): "ONLINE"},
    )
    world.committed(10_000, 0, 0, 7)
    with pytest.raises(RejectedError, match="topic of partition 10000 of t_REALTIME is paused separately"):
        resume(world.control, consume_from={10_000: 5})


def config(replicas: int = 1, **parts: Any) -> TableConfig:
    return TableConfig.from_json(
        {
            "tableName": TABLE,
            "tableType": "REALTIME",
            "segmentsConfig": {"replication": str(replicas)},
            **parts,
        }
    )


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, []),
        ({"upsertConfig": {"mode": "NONE"}, "dedupConfig": None}, []),
        ({"upsertConfig": {"mode": "FULL"}, "dedupConfig": {"dedupEnabled": False}}, []),
        (
            {"upsertConfig": {"mode": "FULL", "dropOutOfOrderRecord": True}},
            ["upsert with dropOutOfOrderRecord: Pinot 1.5 and later refuse"],
        ),
        (
            {"upsertConfig": {"mode": "FULL", "outOfOrderRecordColumn": "late"}},
            ["upsert with outOfOrderRecordColumn: Pinot 1.5 and later refuse"],
        ),
        (
            {"upsertConfig": {"mode": "partial"}},
            ["partial upsert: Pinot 1.5 and later refuse", "partial upsert: rows that are read again"],
        ),
        ({"dedupConfig": {"hashFunction": "NONE"}}, ["dedup: rows that are read again"]),
    ],
)
def test_warnings_about_forced_commits(parts: dict[str, Any], words: list[str]) -> None:
    found = upsert_warnings(config(**parts))
    assert [text.startswith(word) for text, word in zip(found, words, strict=True)] == [True] * len(words)


def test_replicas_may_differ() -> None:
    found = upsert_warnings(config(3, upsertConfig={"mode": "PARTIAL"}))
    assert any("partial upsert with 3 replicas" in text for text in found)


def test_a_pause_that_pinot_refuses_leaves_no_name_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.ideal({segment(0, 0): "CONSUMING"})
    other = PauseRecord({"block": Holder("other", world.control.now_ms())})
    change_record(world.store, TABLE, lambda _present: other)

    def refuse(*_args: Any, **_options: Any) -> None:
        raise RejectedError("Pinot refuses forced commits of t_REALTIME")

    monkeypatch.setattr(world.client.consumption, "pause", refuse)
    with pytest.raises(RejectedError, match="refuses forced commits"):
        pause(world.control)
    assert read_record(world.store, TABLE) == other
