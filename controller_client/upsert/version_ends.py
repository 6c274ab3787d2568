"""Ends of versions in the updates topic: which version was the newest at some moment."""

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
    """Looks for ends of versions by halving a partition of the topic; one thread uses it.

    A look reads a handful of messages for each doubling of the topic's length.

    Args:
        stream: The table's stream config: the topic is in the same Kafka.
        topic: The updates topic.
        partition: Which one is read; each version's end is in all of them.

    Raises:
        StreamUnknownError: The access is set up in a way that only Java's client has.
    """

    def __init__(self, stream: StreamConfig, topic: str, partition: int = 0) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        self._partition = partition
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka wants a name of a group, and hears nothing of it.
            "group.id": f"pinot-plugins-ends-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
        self._consumer = Consumer(settings)

    def close(self) -> None:
        """Let Kafka go."""
        self._consumer.close()

    def newest_up_to(self, version: int) -> VersionEnd | None:
        """The end of the newest version that is not after a version.

        Returns:
            None where the topic holds none, or none any more.

        Raises:
            NotFoundError: There is no such topic.
            SourceError: Kafka does not answer, or the topic holds something else.
        """
        return self._last(lambda end: end.version <= version)

    def newest_at(self, timestamp_ms: int) -> VersionEnd | None:
        """The end of the newest version that was complete at a time, in milliseconds since 1970.

        Returns and raises as :meth:`newest_up_to`.
        """
        return self._last(lambda end: end.at_ms <= timestamp_ms)

    def _last(self, holds: Callable[[VersionEnd], bool]) -> VersionEnd | None:
        """The last end for which something holds that holds for all ends before it."""
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
            # Else it fetches all that comes, a hundred times a second, until the next look.
            self._consumer.unassign()
        return best

    def _range(self) -> tuple[int, int]:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            if not topic_partitions(self._consumer, self._topic, _TIMEOUT_S):
                raise NotFoundError(
                    f"there is no topic {self._topic}",
                    remedy="check that the key coordinator has been started",
                )
        except KafkaException as error:
            raise self._failed(error.args[0].str()) from error
        place = TopicPartition(self._topic, self._partition)
        low, high = ask_leader(
            lambda: self._consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S),
            self._failed,
            what=f"reading the offsets of {self._topic}",
        )
        return int(low), int(high)

    def _next_end(self, offset: int, stop: int) -> tuple[int, VersionEnd] | None:
        """The first end from an offset on, and its offset; None where there is none before another offset."""
        from confluent_kafka import KafkaError, TopicPartition

        self._consumer.assign([TopicPartition(self._topic, self._partition, offset)])
        while True:
            message = self._consumer.poll(_TIMEOUT_S)
            if message is None:
                raise self._failed("no answer in time")
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # public by its documents
                    return None
                raise self._failed(error.str())
            place, value = message.offset(), message.value()
            if place is None or place >= stop:
                return None
            content = decode_any(value or b"", where=f"{self._topic}-{self._partition} at offset {place}")
            if isinstance(content, VersionEnd):
                return place, content

    def _failed(self, reason: str) -> SourceError:
        return SourceError(
            f"Kafka does not return the versions of {self._topic}: {reason}",
            where=self._topic,
            remedy="check that Kafka is up, and that this machine can reach it",
        )
