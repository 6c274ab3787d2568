"""What is sent for a batch, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from controller_client.errors import ConflictError, SourceError
from controller_client.upsert.generation import Generation
from controller_client.upsert.record import CoordinatorRecord
from controller_client.upsert.update_message import Events, VersionEnd
from key_coordinator.report import VersionReport
from spark_connectors.upsert.delivery import Delivery
from spark_connectors.upsert.processor import COUNTS
from tests.unit.fake_clock import FakeClock

_NOW_S = 1_700_000_000.0


@dataclass
class Frame:
    """The result of a batch."""

    rows: list[tuple[int, list[int], list[int], int, int, int]]

    def toArrow(self) -> pa.Table:  # noqa: N802  # Spark's name
        columns = list(zip(*self.rows, strict=True))
        packed = [[np.array(each, "<i8").tobytes() for each in column] for column in columns[1:3]]
        names = ["partition", "inserted", "deleted", "rows", "unread", "growth"]
        return pa.table(dict(zip(names, [columns[0], *packed, *columns[3:]], strict=True)))


@dataclass
class World:
    """The surroundings of a delivery, which record everything it does in order."""

    sent: list[object] = field(default_factory=list)
    reports: list[VersionReport] = field(default_factory=list)
    records: list[CoordinatorRecord] = field(default_factory=list)
    offsets: dict[int, dict[int, int]] = field(default_factory=dict)
    faults: list[Exception] = field(default_factory=list)
    may_send: bool = True

    def begins(self, batch: int) -> Mapping[int, int]:
        return self.offsets.get(batch - 1, {0: 5, 1: 0})

    def ends(self, batch: int) -> Mapping[int, int]:
        return self.offsets[batch]

    def ensure(self, partitions: int) -> int:
        return max(partitions, 3)

    def send_events(self, events: Mapping[int, Events]) -> None:
        if self.faults:
            raise self.faults.pop()
        self.sent.extend(
            (partition, each.version, each.offsets.tolist(), each.deleted.tolist())
            for partition, each in events.items()
        )

    def send_ends(self, ends: Mapping[int, VersionEnd]) -> None:
        self.sent.append(dict(ends))

    def delivery(self, generation: Generation, record: CoordinatorRecord | None = None) -> Delivery:
        return Delivery(
            generation,
            self,
            self,
            record or CoordinatorRecord(generation.number, generation.base),
            write=self.records.append,
            on_version=self.reports.append,
            may_send=lambda: self.may_send,
            lag=lambda: 7,
            clock=FakeClock(_NOW_S),
        )


def deliver(delivery: Delivery, batch: int, *rows: tuple[int, list[int], list[int], int, int, int]) -> None:
    delivery(cast("DataFrame", Frame(list(rows))), batch)


_GENERATION = Generation(1, 100, "spark", 2, 8, "folder")
_ROWS: tuple[Any, ...] = (
    (1, [9, 4], [2], 0, 0, 0),
    (COUNTS, [], [], 4, 0, 2),
    (0, [], [6], 0, 0, 0),
    (1, [5], [], 0, 0, 0),
    (COUNTS, [], [], 3, 1, 1),
)
_EVENTS = [(0, 100, [6], [True]), (1, 100, [4, 5, 9, 2], [False, False, False, True])]


def test_events_are_sent_before_the_end_and_the_end_before_the_record() -> None:
    world = World(offsets={0: {0: 8, 1: 10}})
    deliver(world.delivery(_GENERATION), 0, *_ROWS)
    at_ms = int(_NOW_S * 1000)
    ends = {
        0: VersionEnd(100, 5, 8, at_ms),
        1: VersionEnd(100, 0, 10, at_ms),
        2: VersionEnd(100, 0, 0, at_ms),  # a partition that the input does not have yet
    }
    assert world.sent == [*_EVENTS, ends]
    (record,) = world.records
    assert (record.version, record.at_ms, record.keys) == (100, at_ms, 3)
    assert world.reports == [VersionReport(100, 7, 1, 5, 3, held_back=False, lag=7)]


def test_a_repeated_batch_is_identical_and_counts_once() -> None:
    world = World(offsets={0: {0: 8, 1: 10}, 1: {0: 8, 1: 11}})
    deliver(world.delivery(_GENERATION), 0, *_ROWS)
    first, world.sent = world.sent, []
    # Killed after the record was written, before Spark's commit; the rows are in another order.
    again = world.delivery(_GENERATION, world.records[-1])
    deliver(again, 0, *reversed(_ROWS))
    assert world.sent == first
    assert world.records[-1].keys == 3
    assert world.records[-1].details["unread"] == "1"
    deliver(again, 1, (COUNTS, [], [], 1, 1, 1))
    assert world.records[-1].keys == 4
    assert world.records[-1].details["unread"] == "2"


def test_no_end_is_sent_if_events_failed_or_the_lock_may_be_lost() -> None:
    world = World(offsets={0: {0: 8, 1: 10}}, faults=[SourceError("Kafka is away")])
    delivery = world.delivery(_GENERATION)
    with pytest.raises(SourceError):
        deliver(delivery, 0, *_ROWS)
    world.may_send = False
    with pytest.raises(ConflictError):
        deliver(delivery, 0, *_ROWS)
    world.may_send = True
    delivery.close()
    with pytest.raises(ConflictError):
        deliver(delivery, 0, *_ROWS)
    assert (world.sent, world.records) == ([], [])


def test_ends_are_held_back_until_a_rebuild_has_caught_up() -> None:
    ends = {0: {0: 4, 1: 10}, 1: {0: 8, 1: 10}, 2: {0: 8, 1: 12}}
    world = World(offsets=ends)
    before = CoordinatorRecord(1, 100, version=120, at_ms=5, keys=50, details={"sent": "129", "unread": "9"})
    delivery = world.delivery(Generation(2, 130, "spark", 2, 8, "folder", until={0: 8, 1: 11}), before)
    for batch in range(3):
        deliver(delivery, batch, (COUNTS, [], [], 2, 1, 1))
    # Until then, queries see the last version of the previous generation.
    assert [record.version for record in world.records] == [120, 120, 132]
    assert [record.keys for record in world.records] == [1, 2, 3]
    assert [record.details["unread"] for record in world.records] == ["1", "2", "3"]
    (sent,) = world.sent
    assert isinstance(sent, dict)
    assert {end.version for end in sent.values()} == {132}
    assert [each.held_back for each in world.reports] == [True, True, False]
