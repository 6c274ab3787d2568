"""Finds the newest version at a moment, by the version ends in the updates topic."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from controller_client.errors import NotFoundError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.leaders import ask_leader
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.update_message import VersionEnd, decode_any

__all__ = ["VersionEnds"]

_TIMEOUT_S = 10.0


class VersionEnds:
    """Finds version ends by bisecting a partition of the topic; not thread-safe.

    A search reads a few messages for each doubling of the topic's length.

    Args:
        stream: The table's stream config: the topic is in the same Kafka cluster.
        topic: The updates topic.
        partition: The partition to read; each version's end is in all of them.

    Raises:
        StreamUnknownError: The stream config uses security settings that only Kafka's Java client supports.
    """

    def __init__(self, stream: StreamConfig, topic: str, partition: int = 0) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        self._partition = partition
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka's client requires a group id, but it is never sent to a broker.
            "group.id": f"pinot-plugins-ends-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
        self._consumer = Consumer(settings)

    def close(self) -> None:
        """Close the connection to Kafka."""
        self._consumer.close()

    def newest_up_to(self, version: int) -> VersionEnd | None:
        """Return the end of the newest version that is not later than a version.

        Returns:
            None if the topic does not, or no longer, contain one.

        Raises:
            NotFoundError: There is no such topic.
            SourceError: Kafka does not answer, or the topic contains foreign messages.
        """
        return self._last(lambda end: end.version <= version)

    def newest_at(self, timestamp_ms: int) -> VersionEnd | None:
        """Return the end of the newest version complete at a time, in milliseconds since 1970.

        Same results and errors as :meth:`newest_up_to`.
        """
        return self._last(lambda end: end.at_ms <= timestamp_ms)

    def _last(self, holds: Callable[[VersionEnd], bool]) -> VersionEnd | None:
        """Return the last end that satisfies a condition which all earlier ends also satisfy."""
        low, high = self._range()
        best: VersionEnd | None = None
        try:
            while low < high:
                middle = (low + high) // 2
                found = self._next_end(middle, high)
                if found is not None and holds(found[1]):
                    low, best = found[0] + 1, found[1]
                else:
                    high = middle
        finally:
            # Otherwise it would keep fetching, a hundred times a second, until the next search.
            self._consumer.unassign()
        return best

    def _range(self) -> tuple[int, int]:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            if not topic_partitions(self._consumer, self._topic, _TIMEOUT_S):
                raise NotFoundError(
                    f"the topic {self._topic} does not exist",
                    remedy="check that the key coordinator has been started",
                )
        except KafkaException as error:
            raise self._failed(error.args[0].str()) from error
        topic_partition = TopicPartition(self._topic, self._partition)
        low, high = ask_leader(
            lambda: self._consumer.get_watermark_offsets(topic_partition, timeout=_TIMEOUT_S),
            self._failed,
            what=f"reading the offsets of {self._topic}",
        )
        return int(low), int(high)

    def _next_end(self, offset: int, stop: int) -> tuple[int, VersionEnd] | None:
        """Return the first end from an offset on, and its offset; None if there is none before ``stop``."""
        from confluent_kafka import KafkaError, TopicPartition

        self._consumer.assign([TopicPartition(self._topic, self._partition, offset)])
        while True:
            message = self._consumer.poll(_TIMEOUT_S)
            if message is None:
                raise self._failed("no response in time")
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # public by its documents
                    return None
                raise self._failed(error.str())
            position, value = message.offset(), message.value()
            if position is None or position >= stop:
                return None
            content = decode_any(value or b"", where=f"{self._topic}-{self._partition} at offset {position}")
            if isinstance(content, VersionEnd):
                return position, content

    def _failed(self, reason: str) -> SourceError:
        return SourceError(
            f"Kafka did not return the versions in {self._topic}: {reason}",
            where=self._topic,
            remedy="check that Kafka is running and that this machine can reach it",
        )
