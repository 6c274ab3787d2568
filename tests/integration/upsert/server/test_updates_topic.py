"""The updates topic as a server reads it from real Kafka: transactions and deleted messages."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from confluent_kafka import Producer

from controller_client.stream.config import StreamConfig
from controller_client.upsert.update_message import Events, VersionEnd, encode_end, encode_events
from server_hooks.upsert.lost_messages import Hole
from server_hooks.upsert.updates_topic import UpdatesReader
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.wait import wait_for

pytestmark = [pytest.mark.kafka]

_TIMEOUT_S = 60.0


class Place:
    """A topic with one partition and a version in each transaction."""

    def __init__(self, kafka: Kafka) -> None:
        self.topic = Topic(kafka.bootstrap, f"updates_{uuid.uuid4().hex[:8]}", 1)
        self._producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "transactional.id": uuid.uuid4().hex}
        )
        self._producer.init_transactions(_TIMEOUT_S)

    def send(self, version: int, *, commit: bool = True) -> None:
        """Send a version's events and its end: 3 offsets, including the transaction marker."""
        events = Events(version, np.array([version], np.int64), np.zeros(1, np.bool_))
        self._producer.begin_transaction()
        for value in (*encode_events(events), encode_end(VersionEnd(version, version, version + 1, 1))):
            self._producer.produce(self.topic.name, value, partition=0)
        self._producer.flush(_TIMEOUT_S)
        if commit:
            self._producer.commit_transaction(_TIMEOUT_S)
        else:
            self._producer.abort_transaction(_TIMEOUT_S)

    def reader(self, since: int) -> UpdatesReader:
        """A reader that has read up to an offset."""
        made = UpdatesReader(
            StreamConfig({"stream.kafka.broker.list": self.topic.bootstrap}), self.topic.name
        )
        assert made.partitions() == {0}
        made.assign({0: since})
        return made

    def close(self) -> None:
        del self._producer
        self.topic.delete()


@pytest.fixture
def place(kafka: Kafka) -> Iterator[Place]:
    made = Place(kafka)
    yield made
    made.close()


def _offsets(reader: UpdatesReader, count: int) -> list[int]:
    found: list[int] = []

    def has_all() -> bool:
        found.extend(offset for offset, _, _ in reader.poll(1.0).get(0, ()))
        return len(found) >= count

    wait_for(has_all, f"{count} messages", _TIMEOUT_S)
    return found


def _errors(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    """What the reader has complained about; threads of other tests may have, too."""
    name = UpdatesReader.__module__
    return [
        each.getMessage() for each in caplog.records if each.name == name and each.levelno >= logging.ERROR
    ]


def test_transactions_are_read_when_they_are_committed(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    reader = place.reader(0)
    assert reader.poll(0.0) == {}
    place.send(0)
    assert _offsets(reader, 2) == [0, 1]
    place.send(1, commit=False)
    place.send(2)
    place.send(3)
    assert _offsets(reader, 4) == [6, 7, 9, 10]
    reader.close()
    # From a transaction marker on, as a log that ends with that transaction would continue.
    again = place.reader(8)
    assert _offsets(again, 2) == [9, 10]
    again.close()
    assert not _errors(caplog)


def _hole(reader: UpdatesReader) -> Hole:
    def has_hole() -> bool:
        assert reader.poll(1.0) == {}, "it read on"
        return bool(reader.holes)

    wait_for(has_hole, "the hole", _TIMEOUT_S)
    return reader.holes[0]


def test_nothing_is_read_after_deleted_messages_before_that_is_allowed(place: Place) -> None:
    for version in range(4):
        place.send(version)
    # The first version that is left has lost its events; those of row 3 and later rows are all there.
    place.topic.drop_before({0: 7})
    for since in (0, 4):
        reader = place.reader(since)
        assert _hole(reader) == Hole(since, 7, version=2, row=3)
        reader.assign({0: since})  # as from time to time
        assert reader.poll(2.0) == {}
        reader.resume(0)
        assert _offsets(reader, 3) == [7, 9, 10]
        assert not reader.holes
        reader.close()


def test_more_messages_are_deleted_while_a_reader_waits(place: Place) -> None:
    for version in range(4):
        place.send(version)
    place.topic.drop_before({0: 3})
    reader = place.reader(0)
    assert _hole(reader) == Hole(0, 3, version=1, row=2)
    place.topic.drop_before({0: 6})
    reader.resume(0)
    assert _hole(reader) == Hole(3, 6, version=2, row=3)
    reader.resume(0)
    assert _offsets(reader, 4) == [6, 7, 9, 10]
    # What is deleted once it was read does not matter.
    place.topic.drop_before({0: 12})
    place.send(4)
    assert _offsets(reader, 2) == [12, 13]
    assert not reader.holes
    reader.close()


def test_a_topic_without_messages_has_no_hole_yet(place: Place) -> None:
    place.send(0)
    place.topic.drop_before({0: 3})
    reader = place.reader(0)
    assert reader.poll(2.0) == {}
    assert not reader.holes
    place.send(1)
    assert _hole(reader) == Hole(0, 3, version=1, row=2)
    reader.close()


def test_a_recreated_topic_is_not_read(place: Place) -> None:
    place.send(0)
    ahead = place.reader(1_000)
    hole = _hole(ahead)
    assert (hole.expected, hole.first) == (1_000, 0)
    place.send(1)
    assert ahead.poll(2.0) == {}
    ahead.close()
