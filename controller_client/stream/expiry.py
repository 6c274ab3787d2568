"""Which rows of a topic its retention time is about to take: those that are old by most of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from controller_client.errors import SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import KafkaOffsets, OffsetRange, open_kafka

__all__ = ["EXPIRING_SHARE", "KafkaTopicAges", "TopicAges", "open_ages"]

EXPIRING_SHARE = 0.8
"""A row that is older than this share of the topic's retention time may go soon."""

_TIMEOUT_S = 10.0
_NO_SUCH_ROW = -1


class TopicAges(Protocol):
    """Reads how old the rows of a topic are."""

    def read(self) -> Mapping[int, OffsetRange]:
        """As of :class:`~controller_client.stream.offsets.StreamOffsets`."""
        ...

    def expiring_until(self, now_s: float) -> Mapping[int, int] | None:
        """Return for each partition the offset behind its last row that may go soon.

        Returns:
            None where rows do not go by their age.

        Raises:
            NotFoundError: There is no such topic.
            SourceError: The stream does not answer.
        """
        ...


class KafkaTopicAges(KafkaOffsets):
    """Of a Kafka topic; arguments and errors as of :class:`KafkaOffsets`."""

    def expiring_until(self, now_s: float) -> Mapping[int, int] | None:
        """As of :class:`TopicAges`; four requests."""
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # public by its documents

        latest = {number: held.latest for number, held in self.read().items()}
        try:
            retention_ms = self._retention_ms()
            if retention_ms is None:
                return None
            spec = OffsetSpec.for_timestamp(int(now_s * 1000 - EXPIRING_SHARE * retention_ms))
            found = self._offsets([TopicPartition(self._topic, number) for number in latest], spec)
        except KafkaException as error:
            raise SourceError(
                f"Kafka does not say how old the rows of {self._topic} are: {error.args[0].str()}",
                where=self._brokers,
                remedy="check that Kafka is up, and that its user may describe the topic's configuration",
            ) from error
        return {
            number: latest[number] if offset == _NO_SUCH_ROW else offset for number, offset in found.items()
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
    """Return what reads how old the rows of a stream are.

    Raises:
        StreamUnknownError: Nothing can; the message explains why.
    """
    return open_kafka(stream, KafkaTopicAges)
