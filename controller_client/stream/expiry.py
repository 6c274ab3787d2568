"""Finds the rows that a topic's retention is about to delete: those older than most of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from controller_client.errors import SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import KafkaOffsets, OffsetRange, open_kafka

__all__ = ["EXPIRING_SHARE", "KafkaTopicAges", "TopicAges", "open_ages"]

EXPIRING_SHARE = 0.8
"""A row older than this share of the topic's retention time may be deleted soon."""

_TIMEOUT_S = 10.0
_NO_SUCH_ROW = -1


class TopicAges(Protocol):
    """Reads the ages of a topic's rows."""

    def read(self) -> Mapping[int, OffsetRange]:
        """See :class:`~controller_client.stream.offsets.StreamOffsets`."""
        ...

    def expiring_until(self, now_s: float) -> Mapping[int, int] | None:
        """Return, for each partition, the offset after the last row that may be deleted soon.

        Returns:
            None if rows are not deleted by age.

        Raises:
            NotFoundError: There is no such topic.
            SourceError: The stream does not answer.
        """
        ...


class KafkaTopicAges(KafkaOffsets):
    """Reads a Kafka topic; arguments and errors: see :class:`KafkaOffsets`."""

    def expiring_until(self, now_s: float) -> Mapping[int, int] | None:
        """See :class:`TopicAges`; sends four requests."""
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # public by its documents

        latest = {number: offsets.latest for number, offsets in self.read().items()}
        try:
            retention_ms = self._retention_ms()
            if retention_ms is None:
                return None
            spec = OffsetSpec.for_timestamp(int(now_s * 1000 - EXPIRING_SHARE * retention_ms))
            ends = self._offsets([TopicPartition(self._topic, number) for number in latest], spec)
        except KafkaException as error:
            raise SourceError(
                f"Kafka did not return the age of the rows in {self._topic}: {error.args[0].str()}",
                where=self._brokers,
                remedy="check that Kafka is running and that its user may describe the topic's configuration",
            ) from error
        return {
            number: latest[number] if offset == _NO_SUCH_ROW else offset for number, offset in ends.items()
        }

    def _retention_ms(self) -> int | None:
        from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
            ConfigResource,
            ResourceType,
        )

        topic = ConfigResource(ResourceType.TOPIC, self._topic)
        (answer,) = self._admin.describe_configs([topic], request_timeout=_TIMEOUT_S).values()
        entries = answer.result(_TIMEOUT_S * 2)
        if "delete" not in (entries["cleanup.policy"].value or ""):
            return None
        retention_ms = int(entries["retention.ms"].value or -1)
        return retention_ms if retention_ms >= 0 else None


def open_ages(stream: StreamConfig) -> TopicAges:
    """Return a reader for the ages of a stream's rows.

    Raises:
        StreamUnknownError: They cannot be read; the message explains why.
    """
    return open_kafka(stream, KafkaTopicAges)
