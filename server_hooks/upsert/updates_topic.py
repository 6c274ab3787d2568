"""The updates topic of a table, read from where the log on this server ends."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from controller_client.errors import SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.update_message import VersionRecord, decode_any
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
        self._shorter: set[int] = set()
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka's client wants a group's name; the brokers never hear of it.
            "group.id": f"pinot-plugins-upsert-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "log_level": 0,
            "error_cb": self._on_error,
        }
        self._consumer = Consumer(settings)
        self._assigned: dict[int, int] = {}

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
        """Return the next messages by partition, in their order; none after the time-out.

        A message that is not one of ours is logged and left out.
        """
        found: dict[int, list[Message]] = {}
        for message in self._consumer.consume(_MESSAGES, timeout_s):
            number, offset, value = message.partition(), message.offset(), message.value()
            if message.error() or number is None or offset is None:
                logger.debug("%s: %s", self._topic, message.error())
                continue
            if not self._is_next(number, offset):
                continue
            where = f"{self._topic}, partition {number}, offset {offset}"
            try:
                content = decode_any(value or b"", where=where)
            except SourceError as error:
                logger.error("%s", error)
                continue
            if not isinstance(content, VersionRecord):  # the coordinator's own
                found.setdefault(number, []).append((offset, value or b"", content))
        return found

    def close(self) -> None:
        """End the connection."""
        self._consumer.close()

    def _is_next(self, number: int, offset: int) -> bool:
        """Whether a message is to be taken; what was deleted before this server read it is lost to it."""
        expected = self._assigned[number]
        if offset < expected:
            if number not in self._shorter:
                self._shorter.add(number)
                logger.error(
                    "%s, partition %d starts again at %d, but this server has read it up to %d: was the "
                    "topic created again? Its messages are not applied; delete and create the table",
                    *(self._topic, number, offset, expected),
                )
            return False
        if offset > expected > 0:
            logger.error(
                "%s, partition %d: messages %d to %d are not there any more, and this server has not read "
                "them: their rows may stay as they are; rebuild the table's state",
                *(self._topic, number, expected, offset - 1),
            )
        self._assigned[number] = offset + 1
        return True

    def _on_error(self, error: Any) -> None:
        """Called in the thread that polls; the client retries on its own, and :meth:`partitions` reports."""
        logger.debug("%s: Kafka: %s", self._topic, error)
