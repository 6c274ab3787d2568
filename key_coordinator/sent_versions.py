"""Reads sent versions from the updates topic: the newest, and the records to continue from."""

from __future__ import annotations

import time
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from controller_client.common.closing import Closing
from controller_client.errors import SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.leaders import ask_leader
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events, VersionEnd, VersionRecord, decode_any

__all__ = ["SentRecord", "SentVersions"]

_TIMEOUT_S = 30.0
_LOOK_BACK = 64


@dataclass(frozen=True)
class SentRecord:
    """A version's record and its offset.

    Attributes:
        record: The record.
        offset: Offset of its message in partition 0.
    """

    record: VersionRecord
    offset: int


class SentVersions(Closing):
    """Reads committed messages of the topic; not thread-safe.

    Args:
        stream: The table's stream config: the topic is in the same Kafka cluster.
        topic: The updates topic.

    Raises:
        StreamUnknownError: The stream config uses security settings that only Kafka's Java client supports.
    """

    def __init__(self, stream: StreamConfig, topic: str) -> None:
        self._topic = topic
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka's client requires a group id, but it is never sent to a broker.
            "group.id": f"pinot-plugins-versions-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
        self._brokers = str(settings["bootstrap.servers"])
        self._consumer = Consumer(settings)

    def close(self) -> None:
        """Close the connection to Kafka."""
        self._consumer.close()

    def newest(self) -> int:
        """Return the newest version that has a message; ``NIL`` for none.

        Versions increase within each partition, so the last message of each partition is enough.

        Raises:
            SourceError: Kafka does not answer, or the topic contains foreign messages.
        """
        newest = NIL
        for partition in self._partitions():
            low, high = self._range(partition)
            back = _LOOK_BACK
            while low < high:
                # The last offsets may be transaction markers, which are not messages.
                first = max(low, high - back)
                versions = [content.version for _, content in self._from(partition, first)]
                if versions or first == low:
                    newest = max([newest, *versions])
                    break
                back *= 8
        return newest

    def records_after(self, offset: int) -> Generator[SentRecord]:
        """Yield the version records now in partition 0, from an offset on.

        Raises:
            SourceError: See :meth:`newest`.
        """
        if 0 not in self._partitions():
            return
        low, high = self._range(0)
        if max(low, offset) >= high:
            return
        for position, content in self._from(0, max(low, offset)):
            if isinstance(content, VersionRecord):
                yield SentRecord(content, position)

    def _from(self, partition: int, offset: int) -> Iterator[tuple[int, Events | VersionEnd | VersionRecord]]:
        """Yield the messages from an offset to the current end of a partition."""
        self._consumer.assign([TopicPartition(self._topic, partition, offset)])
        deadline = time.monotonic() + _TIMEOUT_S
        try:
            while True:
                message = self._consumer.poll(_TIMEOUT_S)
                if message is None:
                    raise self._failed("no response in time")
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # public by its documents
                    return
                if error is not None:
                    if error.retriable() and time.monotonic() < deadline:
                        continue
                    raise self._failed(error.str())
                position = message.offset() or 0
                where = f"{self._topic}, partition {partition}, offset {position}"
                yield position, decode_any(message.value() or b"", where=where)
                deadline = time.monotonic() + _TIMEOUT_S
        finally:
            self._consumer.unassign()

    def _partitions(self) -> set[int]:
        try:
            return topic_partitions(self._consumer, self._topic, _TIMEOUT_S)
        except KafkaException as error:
            raise self._failed(error.args[0].str()) from error

    def _range(self, partition: int) -> tuple[int, int]:
        topic_partition = TopicPartition(self._topic, partition)
        low, high = ask_leader(
            lambda: self._consumer.get_watermark_offsets(topic_partition, timeout=_TIMEOUT_S),
            self._failed,
            what=f"reading the offsets of {self._topic}",
        )
        return int(low), int(high)

    def _failed(self, reason: str) -> SourceError:
        return SourceError(
            f"Kafka did not return the versions in {self._topic}: {reason}",
            where=self._brokers,
            remedy="check that Kafka is running and that this machine can reach it",
        )
