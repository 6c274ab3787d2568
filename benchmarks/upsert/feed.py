"""Writes the rows of a table that :mod:`benchmarks.upsert` compares to its topic."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from confluent_kafka import Message, Producer

from tests.support.kafka_topics import Topic

PARTITIONS = 4
_GROUPS = 100
_VALUES = 1_000_000
_CHUNK = 10_000
_TICK_S = 0.01
_TIMEOUT_S = 120.0


class Feed:
    """Writes rows to a topic: one for each key, in random order, then rows with random keys.

    Two feeds with the same counts write the same rows, apart from their partitions.

    Args:
        topic: The topic.
        keys: The number of keys.
        by_key: Whether a row's partition depends on its key; otherwise it is random.
    """

    def __init__(self, topic: Topic, keys: int, *, by_key: bool) -> None:
        self._topic = topic
        self._keys = keys
        self._by_key = by_key
        self._rows, self._partitions = np.random.default_rng(1), np.random.default_rng(2)
        self._order = self._rows.permutation(keys)
        self._producer = Producer(
            {"bootstrap.servers": topic.bootstrap, "linger.ms": 20, "enable.idempotence": True}
        )
        self._first_ms = round(time.time() * 1000)
        self.sent = 0
        self.ends = [0] * PARTITIONS

    def now_ms(self) -> int:
        """Return the time in the next row; it grows by 1 per row."""
        return self._first_ms + self.sent

    def write(self, count: int, delivered: Callable[[object, Message], None] | None = None) -> None:
        """Pass rows to the producer, in chunks of at most 10,000."""
        for first in range(0, count, _CHUNK):
            self._write(min(_CHUNK, count - first), delivered)

    def _write(self, count: int, delivered: Callable[[object, Message], None] | None) -> None:
        keys = self._order[self.sent : self.sent + count]
        keys = np.append(keys, self._rows.integers(0, self._keys, count - len(keys)))
        values = self._rows.integers(0, _VALUES, count)
        partitions = keys % PARTITIONS if self._by_key else self._partitions.integers(0, PARTITIONS, count)
        for key, value, partition in zip(keys.tolist(), values.tolist(), partitions.tolist(), strict=True):
            row = (key, value, key % _GROUPS, self.now_ms(), partition, self.ends[partition])
            text = b'{"id":%d,"value":%d,"team":"team%d","ts":%d,"part":%d,"seq":%d}' % row
            while True:
                try:
                    self._send(text, partition, delivered)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            self.ends[partition] += 1
            self.sent += 1
        self._producer.poll(0)

    def _send(self, text: bytes, partition: int, delivered: Callable[[object, Message], None] | None) -> None:
        if delivered is None:
            self._producer.produce(self._topic.name, text, partition=partition)
        else:
            self._producer.produce(self._topic.name, text, partition=partition, on_delivery=delivered)

    def flush(self) -> None:
        """Wait until Kafka has all rows."""
        left = self._producer.flush(_TIMEOUT_S)
        assert not left, f"Kafka did not accept {left} rows within {_TIMEOUT_S:.0f} s"

    def steady(
        self, rate: int, seconds: float, delivered: Callable[[object, Message], None] | None = None
    ) -> None:
        """Write rows at a steady rate, in steps of 10 ms, and wait until Kafka has all of them."""
        began_s = time.monotonic()
        for tick in range(round(seconds / _TICK_S)):
            time.sleep(max(0.0, began_s + tick * _TICK_S - time.monotonic()))
            self.write(round(rate * _TICK_S), delivered)
        self.flush()


@contextmanager
def running(work: Callable[[], None]) -> Iterator[threading.Event]:
    """Run a function in a thread; yield the event that its end sets, and wait for it at the end."""
    done = threading.Event()

    def run() -> None:
        try:
            work()
        finally:
            done.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        thread.join()
