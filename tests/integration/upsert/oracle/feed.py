"""Writes the oracle's records: keys in any partition, times in any order."""

from __future__ import annotations

import json
import uuid

import numpy as np
from confluent_kafka import Producer

_TIMEOUT_S = 300.0
_FIRST_MS = 1_700_000_000_000
_SPREAD_MS = 10_000_000
_TRANSACTION = 500


class Feed:
    """Records ``{"id": .., "value": .., "ts": ..}`` of a topic.

    Args:
        bootstrap: Kafka's address.
        topic: The topic.
        partitions: How many it has.
        seed: Of what is random.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, seed: int) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._random = np.random.default_rng(seed)
        self._plain = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20})

    def insert(self, keys: int) -> None:
        """Write one record of each key."""
        self._write(self._plain, self._random.permutation(keys), broken=0.0)

    def update(self, keys: int, count: int, *, broken: float = 0.0) -> None:
        """Write records of random keys; a part of them cannot be understood."""
        self._write(self._plain, self._random.integers(0, keys, count), broken=broken)

    def update_in_transactions(self, keys: int, count: int) -> None:
        """Write records in transactions, each of its producer's; every fourth one is aborted."""
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": uuid.uuid4().hex}
        producer = Producer(settings)
        producer.init_transactions(_TIMEOUT_S)
        for number in range(max(4, count // _TRANSACTION)):
            producer.begin_transaction()
            self._write(producer, self._random.integers(0, keys, _TRANSACTION), broken=0.0)
            if number % 4 == 3:
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)

    def _write(self, producer: Producer, keys: np.ndarray, *, broken: float) -> None:
        count = len(keys)
        partitions = self._random.integers(0, self._partitions, count)
        times = _FIRST_MS + self._random.integers(0, _SPREAD_MS, count)
        values = self._random.integers(0, 1_000_000, count)
        is_broken = self._random.random(count) < broken
        for key, partition, time_ms, value, bad in zip(
            keys.tolist(),
            partitions.tolist(),
            times.tolist(),
            values.tolist(),
            is_broken.tolist(),
            strict=True,
        ):
            text = b'{"id": ' if bad else json.dumps({"id": key, "value": value, "ts": time_ms}).encode()
            while True:
                try:
                    producer.produce(self._topic, text, partition=partition)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        left = producer.flush(_TIMEOUT_S)
        assert not left, f"{left} records were not taken by Kafka"
