"""The updates topic of a table, read from where the log on this server ends."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller_client.common.formats import log_skipped
from controller_client.errors import FormatVersionError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events, VersionEnd, VersionRecord, decode_any
from server_hooks.upsert.lost_messages import Hole
from server_hooks.upsert.updates_log import Message

__all__ = ["UpdatesReader"]

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_MESSAGES = 200


class UpdatesReader:
    """Reads assigned partitions without a consumer group; used by one thread.

    Args:
        stream: The table's stream config: the topic is in the same Kafka cluster.
        topic: Name of the topic.

    Raises:
        StreamUnknownError: The stream config uses settings that only Kafka's Java client supports.
    """

    def __init__(self, stream: StreamConfig, topic: str) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka's client requires the name of a group; it is never sent to the brokers.
            "group.id": f"pinot-plugins-upsert-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            # Transactions leave gaps, which are normal; deleted messages are reported as an error.
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "allow.auto.create.topics": False,
            "log_level": 0,
            "error_cb": self._on_error,
        }
        self._consumer = Consumer(settings)
        self._assigned: dict[int, int] = {}
        self._gone: set[int] = set()
        """Partitions whose next message no longer exists."""
        self._examined: dict[int, Hole] = {}
        """Those of which the first messages are read, to learn what the deleted ones contained."""
        self.holes: dict[int, Hole] = {}
        """Partitions that are not read further until :meth:`resume`, as messages were deleted."""
        self._too_new: set[int] = set()
        """Partitions whose next message has a format of a later release."""

    def partitions(self) -> set[int]:
        """Return the partitions of the topic; empty if it does not exist yet.

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
        """Read these partitions from these offsets on; partitions that are already being read continue."""
        from confluent_kafka import TopicPartition

        new = {
            number: offset
            for number, offset in offsets.items()
            if number not in self._assigned and number not in self.holes
        }
        if new:
            self._consumer.incremental_assign(
                [TopicPartition(self._topic, number, offset) for number, offset in new.items()]
            )
            self._assigned.update(new)

    def poll(self, timeout_s: float) -> dict[int, list[Message]]:
        """Wait for messages and return them by partition, in their order; empty after the timeout.

        A message in an unknown format is logged and skipped; a message that is not for servers is skipped.
        A partition whose next message was deleted is not read further: it is in :attr:`holes` as soon as the
        first end of a version after that shows what is missing.
        At a message that a later release wrote, reading of its partition stops: the message must not be
        skipped, so later versions do not become complete here.

        Raises:
            SourceError: Messages were deleted, and Kafka does not return the first offset.
        """
        while self._gone:
            # Before reading, as an error would lose the messages that were read.
            self._go_to_first(next(iter(self._gone)))
        first = self._consumer.poll(timeout_s)
        if first is None:
            return {}
        messages: dict[int, list[Message]] = {}
        # Messages that have already arrived, without waiting.
        for message in (first, *self._consumer.consume(_MESSAGES, 0)):
            number, offset, value = message.partition(), message.offset(), message.value() or b""
            if (error := message.error()) is not None:
                self._on_message_error(number, error)
            elif number is not None and offset is not None and self._is_next(number, offset):
                decoded = self._decode(number, offset, value)
                if number in self._examined and decoded is not None:
                    self._examine(number, decoded)
                elif isinstance(decoded, Events | VersionEnd):
                    messages.setdefault(number, []).append((offset, value, decoded))
        return messages

    def resume(self, number: int) -> None:
        """Continue to read a partition after a hole, with the first message that exists."""
        self.assign({number: self.holes.pop(number).first})

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _is_next(self, number: int, offset: int) -> bool:
        """Return whether a message is the next one of its partition, and advance the position."""
        if number in self._too_new or number in self.holes or offset < self._assigned[number]:
            return False
        self._assigned[number] = offset + 1
        return True

    def _decode(self, number: int, offset: int, value: bytes) -> Events | VersionEnd | VersionRecord | None:
        try:
            return decode_any(value, where=f"{self._topic}, partition {number}, offset {offset}")
        except SourceError as invalid:
            logger.error("%s", invalid)
        except FormatVersionError as newer:
            log_skipped(logger, newer)
            # This process cannot read it, and a retry would not help.
            self._too_new.add(number)
            self._stop(number)
        return None

    def _examine(self, number: int, message: Events | VersionEnd | VersionRecord) -> None:
        """Take note of a message after a hole; nothing more is needed after the first end of a version."""
        hole = self._examined[number]
        if hole.version == NIL:
            hole = replace(hole, version=message.version)
            self._examined[number] = hole
        if isinstance(message, VersionEnd):
            self.holes[number] = replace(hole, row=message.end)
            del self._examined[number], self._assigned[number]
            self._stop(number)

    def _stop(self, number: int) -> None:
        from confluent_kafka import TopicPartition

        self._consumer.incremental_unassign([TopicPartition(self._topic, number)])

    def _on_message_error(self, number: int | None, error: Any) -> None:
        from confluent_kafka import KafkaError

        if number is None or error.code() != KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001  # public by its documents
            logger.debug("%s: %s", self._topic, error)
            return
        self._gone.add(number)

    def _go_to_first(self, number: int) -> None:
        """Read the first messages of a partition whose next message no longer exists."""
        from confluent_kafka import KafkaException, TopicPartition

        examined = self._examined.get(number)
        expected = examined.expected if examined else self._assigned[number]
        partition = TopicPartition(self._topic, number)
        try:
            first, _ = self._consumer.get_watermark_offsets(partition, timeout=_TIMEOUT_S)
        except KafkaException as error:
            raise SourceError(
                f"Kafka did not return the first offset of partition {number}: {error.args[0].str()}",
                where=self._topic,
                remedy="check that Kafka is up, and that this server can reach it",
            ) from error
        self._gone.discard(number)
        # A partition that stopped with an error does not accept a seek.
        self._stop(number)
        del self._assigned[number]
        self._examined.pop(number, None)
        hole = Hole(expected, first, NIL, NIL)
        if first < expected:
            self.holes[number] = hole
            return
        if first > expected:
            self._examined[number] = hole
        self.assign({number: first})

    def _on_error(self, error: Any) -> None:
        """Called in the polling thread; the client retries, and :meth:`partitions` raises errors."""
        logger.debug("%s: Kafka: %s", self._topic, error)
