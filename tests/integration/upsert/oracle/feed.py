"""Writes the oracle's records: any key in any partition, equal and late times, tombstones, reused keys."""

from __future__ import annotations

import json
import uuid

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from numpy.typing import NDArray

from tests.integration.upsert.oracle.keys import key_of

_TIMEOUT_S = 300.0
_FIRST_MS = 1_700_000_000_000
_TRANSACTION = 500
# A write has few distinct times: many of a key are equal, and they overlap with those of the previous write.
_WINDOW_MS = 8
_STEP_MS = 6
_LATE = 0.1
_LATE_MS = 60
_TOMBSTONES = 0.08
_TIES = 0.02

Numbers = NDArray[np.int64]


class Feed:
    """Writes records ``{"holder": .., "account": .., "value": .., "ts": ..}`` and tombstones to a topic.

    Args:
        bootstrap: Kafka's address.
        topic: The topic.
        partitions: The number of its partitions.
        seed: Seed of the random choices.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, seed: int) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._random = np.random.default_rng(seed)
        self._plain = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20})
        self._first_ms = _FIRST_MS

    def insert(self, keys: int) -> None:
        """Write one record for each key; none is a tombstone."""
        everywhere = self._random.integers(0, self._partitions, keys)
        self._write(self._plain, self._random.permutation(keys), everywhere, tombstones=0.0)

    def update(self, keys: int, count: int, *, broken: float = 0.0) -> None:
        """Write records with random keys; some are invalid, some are tombstones.

        The last ones differ only in partition and value.
        """
        self._first_ms += _STEP_MS
        ties = int(count * _TIES) // self._partitions
        self._write_random(self._plain, keys, count - ties * self._partitions, broken=broken)
        self._write_ties(keys, ties)

    def update_in_transactions(self, keys: int, count: int) -> None:
        """Write records in transactions, each with its own producer; every fourth one is aborted."""
        self._first_ms += _STEP_MS
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": uuid.uuid4().hex}
        producer = Producer(settings)
        producer.init_transactions(_TIMEOUT_S)
        for number in range(max(4, count // _TRANSACTION)):
            producer.begin_transaction()
            self._write_random(producer, keys, _TRANSACTION)
            if number % 4 == 3:
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)

    def _write_random(self, producer: Producer, keys: int, count: int, *, broken: float = 0.0) -> None:
        everywhere = self._random.integers(0, self._partitions, count)
        self._write(producer, self._random.integers(0, keys, count), everywhere, broken=broken)

    def _write_ties(self, keys: int, count: int) -> None:
        """For a number of keys, write a record to each partition, all with the same time and offset."""
        missing = self._missing()
        filled = np.repeat(np.arange(self._partitions), missing)
        self._write(self._plain, self._random.integers(0, keys, len(filled)), filled)
        tied = np.repeat(self._random.choice(keys, count, replace=False), self._partitions)
        partitions = np.tile(np.arange(self._partitions), count)
        times = np.full(len(tied), self._first_ms + _WINDOW_MS)
        self._write(self._plain, tied, partitions, times, tombstones=0.25)

    def _missing(self) -> list[int]:
        """How many fewer messages each partition has than the longest one."""
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": "reads-alone"})
        try:
            places = [TopicPartition(self._topic, partition) for partition in range(self._partitions)]
            ends = [consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)[1] for place in places]
        finally:
            consumer.close()
        return [max(ends) - end for end in ends]

    def _times(self, count: int) -> Numbers:
        times = self._first_ms + self._random.integers(0, _WINDOW_MS, count)
        late = self._random.random(count) < _LATE
        return times - np.where(late, self._random.integers(0, _LATE_MS, count), 0)

    def _write(
        self,
        producer: Producer,
        keys: Numbers,
        partitions: Numbers,
        times: Numbers | None = None,
        *,
        broken: float = 0.0,
        tombstones: float = _TOMBSTONES,
    ) -> None:
        count = len(keys)
        columns = (
            keys,
            partitions,
            self._times(count) if times is None else times,
            self._random.integers(0, 1_000_000, count),
            self._random.random(count) < broken,
            self._random.random(count) < tombstones,
        )
        for key, partition, time_ms, value, bad, gone in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            named = key_of(key)
            text: bytes | None = json.dumps({**named, "value": value, "ts": time_ms}).encode()
            about = {}
            if bad:
                text = b'{"holder": '
            elif gone:
                text, about = None, {"key": json.dumps(named).encode(), "timestamp": time_ms}
            while True:
                try:
                    producer.produce(self._topic, text, partition=partition, **about)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        left = producer.flush(_TIMEOUT_S)
        assert not left, f"{left} records were not accepted by Kafka"
