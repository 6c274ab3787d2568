"""A key coordinator for the tests, in plain Python: short enough to be obviously correct.

It keeps one row per key, reads the input topic from the end of its last version, and sends the result as one
version. It is also the model that the servers' rows are compared with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Message, Producer

from controller_client.upsert.update_message import Events, VersionEnd, encode_end, encode_events
from tests.support.kafka_topics import read_committed

_TIMEOUT_S = 300.0


@dataclass(frozen=True, order=True)
class Record:
    """A record of the input topic; records of a key replace each other in this order."""

    ts: int
    offset: int
    partition: int
    is_tombstone: bool = False


class ModelCoordinator:
    """Coordinates one table, whose records are JSON with ``key`` and ``ts``.

    Args:
        bootstrap: Kafka's address.
        topic: The input topic.
        updates_topic: The topic of the updates.
        partitions: The number of partitions of both topics.
    """

    def __init__(self, bootstrap: str, topic: str, updates_topic: str, partitions: int) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._updates_topic = updates_topic
        self._next = dict.fromkeys(range(partitions), 0)
        self._winners: dict[str, Record] = {}
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
        )
        self.version = -1
        self.visible: dict[int, frozenset[tuple[int, int]]] = {-1: frozenset()}
        """By version, the partitions and offsets of the rows that a query must see."""

    def coordinate(self, *, partitions: int | None = None, ends: bool = True) -> int:
        """Make the next version from all records that are in the topic now; return its number.

        Args:
            partitions: The number of partitions from now on.
            ends: Whether to send the version's ends; otherwise the next version completes it.
        """
        for number in range(partitions or 0):
            self._next.setdefault(number, 0)
        self.version += 1
        begins = dict(self._next)
        events: dict[int, list[tuple[int, bool]]] = {number: [] for number in self._next}
        for number in self._next:
            for record, key in self._read(number):
                self._resolve(record, key, events)
                self._next[number] = record.offset + 1
        for number, found in events.items():
            for value in _encoded(self.version, found):
                self._send(number, value)
        if ends:
            self._producer.flush(_TIMEOUT_S)
            for number, begin in begins.items():
                end = VersionEnd(self.version, begin, self._next[number], 1_000 * self.version)
                self._send(number, encode_end(end))
        self._producer.flush(_TIMEOUT_S)
        self.visible[self.version] = frozenset(
            (record.partition, record.offset) for record in self._winners.values() if not record.is_tombstone
        )
        return self.version

    def repeat(self, version: int, offsets: Mapping[int, list[int]]) -> None:
        """Resend inserts and deletes with a later version; they must have no effect."""
        for number, each in offsets.items():
            for value in _encoded(version, [(offset, gone) for offset in each for gone in (False, True)]):
                self._send(number, value)
        self._producer.flush(_TIMEOUT_S)

    def close(self) -> None:
        """Stop sending."""
        self.__dict__.pop("_producer", None)

    def _resolve(self, record: Record, key: str, events: dict[int, list[tuple[int, bool]]]) -> None:
        old = self._winners.get(key)
        if not record.is_tombstone:
            events[record.partition].append((record.offset, False))
        if old is not None and old > record:
            if not record.is_tombstone:
                events[record.partition].append((record.offset, True))
            return
        if old is not None and not old.is_tombstone:
            events[old.partition].append((old.offset, True))
        self._winners[key] = record

    def _read(self, number: int) -> list[tuple[Record, str]]:
        """The committed, valid records of a partition since the last version."""
        found: list[tuple[Record, str]] = []

        def take(message: Message) -> None:
            offset, value, name = message.offset() or 0, message.value(), message.key()
            if value is None:
                time, key = message.timestamp()[1], bytes(name or b"").decode()
                found.append((Record(time, offset, number, is_tombstone=True), key))
                return
            with suppress(ValueError):
                document = json.loads(value)
                found.append((Record(document["ts"], offset, number), document["key"]))

        read_committed(self._bootstrap, self._topic, number, take, self._next[number])
        return found

    def _send(self, number: int, value: bytes) -> None:
        self._producer.produce(self._updates_topic, value, partition=number)
        self._producer.poll(0)


def _encoded(version: int, found: list[tuple[int, bool]]) -> list[bytes]:
    offsets = np.array([offset for offset, _ in found], np.int64)
    return list(encode_events(Events(version, offsets, np.array([gone for _, gone in found], np.bool_))))
