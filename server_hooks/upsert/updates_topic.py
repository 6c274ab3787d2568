"""The updates topic of a table, read from where the log on this server ends."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from controller_client.common.formats import log_skipped
from controller_client.errors import FormatVersionError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.update_message import Events, VersionEnd, decode_any
from server_hooks.upsert.updates_log import Message

__all__ = ["UpdatesTopic"]

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_MESSAGES = 200


class UpdatesTopic:
    """Reads the partitions that it is given, without a consumer group; one thread uses it.

    Args:
        stream: The table's stream config: the topic is in the same Kafka.
        topic: Its name.

    Raises:
        StreamUnknownError: The access is set up in a way that only Java's client has.
    """

    def __init__(self, stream: StreamConfig, topic: str) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka's client wants a group's name; the brokers never hear of it.
            "group.id": f"pinot-plugins-upsert-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            # Gaps are normal, of transactions; that messages are gone is told as an error.
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "allow.auto.create.topics": False,
            "log_level": 0,
            "error_cb": self._on_error,
        }
        self._consumer = Consumer(settings)
        self._assigned: dict[int, int] = {}
        self._gone: set[int] = set()
        """Partitions of which the next message is not there."""
        self._too_new: set[int] = set()
        """Partitions of which the next message is of a format of a later release."""

    def partitions(self) -> set[int]:
        """Which partitions the topic has; none where it does not exist yet.

        Raises:
            SourceError: Kafka does not answer.
        """
        from confluent_kafka import KafkaException

        try:
            return topic_partitions(self._consumer, self._topic, _TIMEOUT_S)
        except KafkaException as error:
            raise SourceError(
                f"Kafka did not return the partitions of {self._topic}: {error.args[0].str()}",
                where=self._topic,
                remedy="check that Kafka is up, and that this server can reach it",
            ) from error

    def assign(self, offsets: Mapping[int, int]) -> None:
        """Read these partitions from these offsets on; those that are read already go on as they are."""
        from confluent_kafka import TopicPartition

        new = {number: offset for number, offset in offsets.items() if number not in self._assigned}
        if new:
            self._consumer.incremental_assign(
                [TopicPartition(self._topic, number, offset) for number, offset in new.items()]
            )
            self._assigned.update(new)

    def poll(self, timeout_s: float) -> dict[int, list[Message]]:
        """Return the next messages by partition, in their order, once there is one; none after the time-out.

        A message that is not one of ours is logged and left out; one of a kind that is not for servers is
        left out. Of a partition with a message that a later release wrote nothing is read from that one on:
        what it says may not be left out, so the versions after it are not complete here.

        Raises:
            SourceError: Messages are gone, and Kafka does not return where the others begin.
        """
        while self._gone:
            # Before something is read, which an error would lose.
            self._go_to_first(next(iter(self._gone)))
        first = self._consumer.poll(timeout_s)
        if first is None:
            return {}
        found: dict[int, list[Message]] = {}
        # What else has come by now, without waiting.
        for message in (first, *self._consumer.consume(_MESSAGES, 0)):
            number, offset, value = message.partition(), message.offset(), message.value() or b""
            if (error := message.error()) is not None:
                self._on_message_error(number, error)
            elif number is not None and offset is not None and self._is_next(number, offset):
                try:
                    decoded = decode_any(value, where=f"{self._topic}, partition {number}, offset {offset}")
                except SourceError as strange:
                    logger.error("%s", strange)
                    continue
                except FormatVersionError as newer:
                    log_skipped(logger, newer)
                    self._stop_at(number)
                    continue
                if isinstance(decoded, Events | VersionEnd):
                    found.setdefault(number, []).append((offset, value, decoded))
        return found

    def close(self) -> None:
        """End the connection."""
        self._consumer.close()

    def _is_next(self, number: int, offset: int) -> bool:
        """Whether a message is to be taken."""
        if offset < self._assigned[number] or number in self._too_new:
            return False
        self._assigned[number] = offset + 1
        return True

    def _stop_at(self, number: int) -> None:
        """Read nothing more of a partition; this process cannot, however often it tries."""
        from confluent_kafka import TopicPartition

        self._too_new.add(number)
        self._consumer.incremental_unassign([TopicPartition(self._topic, number)])

    def _on_message_error(self, number: int | None, error: Any) -> None:
        from confluent_kafka import KafkaError

        if number is None or error.code() != KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001  # public by its documents
            logger.debug("%s: %s", self._topic, error)
            return
        self._gone.add(number)

    def _go_to_first(self, number: int) -> None:
        """What this server would read next is not there: go on with the first message that is."""
        from confluent_kafka import KafkaException, TopicPartition

        expected = self._assigned[number]
        try:
            place = TopicPartition(self._topic, number)
            first, _ = self._consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)
            # A partition that stopped by an error takes no seek.
            self._consumer.incremental_unassign([place])
            self._consumer.incremental_assign([TopicPartition(self._topic, number, first)])
        except KafkaException as error:
            raise SourceError(
                f"Kafka did not return the first offset of partition {number}: {error.args[0].str()}",
                where=self._topic,
                remedy="check that Kafka is up, and that this server can reach it",
            ) from error
        self._gone.discard(number)
        if first < expected:
            logger.error(
                "%s, partition %d starts again at %d, but this server has read it up to %d: was the "
                "topic created again? Its messages are not applied; delete and create the table",
                *(self._topic, number, first, expected),
            )
        elif expected > 0:
            logger.error(
                "%s, partition %d: messages %d to %d are not there any more, and this server has not read "
                "them: their rows may stay as they are; rebuild the table's state",
                *(self._topic, number, expected, first - 1),
            )

    def _on_error(self, error: Any) -> None:
        """Called in the thread that polls; the client retries on its own, and :meth:`partitions` reports."""
        logger.debug("%s: Kafka: %s", self._topic, error)
