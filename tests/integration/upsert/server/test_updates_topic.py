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
from server_hooks.upsert.updates_topic import UpdatesTopic
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

    def reader(self, since: int) -> UpdatesTopic:
        """A reader that has read up to an offset."""
        made = UpdatesTopic(StreamConfig({"stream.kafka.broker.list": self.topic.bootstrap}), self.topic.name)
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


def _offsets(reader: UpdatesTopic, count: int) -> list[int]:
    found: list[int] = []

    def has_all() -> bool:
        found.extend(offset for offset, _, _ in reader.poll(1.0).get(0, ()))
        return len(found) >= count

    wait_for(has_all, f"{count} messages", _TIMEOUT_S)
    return found


def _errors(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    """What the reader has complained about; threads of other tests may have, too."""
    name = UpdatesTopic.__module__
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


def test_deleted_messages_are_reported(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    for version in range(4):
        place.send(version)
    place.topic.drop_before({0: 6})
    fresh = place.reader(0)
    assert _offsets(fresh, 4) == [6, 7, 9, 10]
    fresh.close()
    assert not _errors(caplog)
    behind = place.reader(3)
    assert _offsets(behind, 4) == [6, 7, 9, 10]
    behind.close()
    (told,) = _errors(caplog)
    assert (
        f"{place.topic.name}, partition 0: messages 3 to 5 were deleted before this server read them" in told
    )


def test_a_recreated_topic_is_reported(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.send(0)
    ahead = place.reader(1_000)
    wait_for(lambda: not ahead.poll(1.0) and bool(_errors(caplog)), "the reader to complain", _TIMEOUT_S)
    place.send(1)
    assert ahead.poll(2.0) == {}
    ahead.close()
    (told,) = _errors(caplog)
    assert "partition 0 starts at offset 0, but this server has already read it up to 1000" in told
