"""The input topic of a table, all partitions of it read by one consumer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from controller_client.clock import Clock
from controller_client.common.closing import Closing
from controller_client.errors import SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, open_offsets, topic_partitions
from key_coordinator.reading.records import Messages

__all__ = ["InputTopic"]

_TIMEOUT_S = 30.0
_CHECK_PARTITIONS_S = 5.0
_ISOLATION = "stream.kafka.isolation.level"
_MAX_BUFFERED_KB = 32 << 10


class InputTopic(Closing):
    """Reads a table's input; not thread-safe.

    Args:
        stream: The table's stream config.
        clock: Time.
        allow_data_loss: Whether to continue if Kafka has deleted rows before they were read.
        note: Called with a log line when that happens.

    Raises:
        StreamUnknownError: The stream config uses security settings that only Kafka's Java client supports.
    """

    def __init__(
        self,
        stream: StreamConfig,
        clock: Clock,
        *,
        allow_data_loss: bool,
        note: Callable[[str], None],
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._allow_data_loss = allow_data_loss
        self._note = note
        self._ends: dict[int, int] = {}
        self._at_end: set[int] = set()
        self._checked_s = 0.0
        self._only: Collection[int] | None = None
        settings: dict[str, Any] = {
            **client_settings(stream.values),
            # Kafka's client requires a group id, but it is never sent to a broker.
            "group.id": f"pinot-plugins-coordinator-{stream.topic}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": stream.values.get(_ISOLATION, "read_uncommitted"),
            "allow.auto.create.topics": False,
            # Larger and therefore fewer fetches, at the cost of at most this delay.
            "fetch.wait.max.ms": 50,
            "fetch.min.bytes": 1 << 16,
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": _MAX_BUFFERED_KB,
            "log_level": 0,
        }
        self._consumer = Consumer(settings)

    def close(self) -> None:
        """Close the connection to Kafka."""
        self._consumer.close()

    @property
    def ends(self) -> Mapping[int, int]:
        """By partition, the offset after the last one read or skipped."""
        return self._ends

    def begin(self, ends: Mapping[int, int], *, only: Collection[int] | None = None) -> None:
        """Continue reading at these offsets; other partitions start at their beginnings.

        Args:
            ends: Offsets by partition.
            only: Partitions to read; None: all, including new ones.

        Raises:
            SourceError: Kafka does not answer, has no such topic, or has deleted unread rows.
        """
        self._ends, self._only, self._at_end = {}, only, set()
        self._check_partitions(ends)

    @property
    def at_end(self) -> bool:
        """Whether everything present a moment ago has been read."""
        return self._at_end >= self._ends.keys()

    def lag(self) -> int:
        """Return the number of unread offsets that the consumer knows of."""
        try:
            return sum(max(0, self._high(partition) - end) for partition, end in self._ends.items())
        except KafkaException:
            return 0

    def take(self, most: int, wait_s: float) -> Messages:
        """Return the messages available; waits if there are none.

        Args:
            most: Maximum number of messages.
            wait_s: Seconds to wait for a message.

        Raises:
            SourceError: Kafka does not answer, or has deleted unread rows.
        """
        if self._clock.monotonic() - self._checked_s >= _CHECK_PARTITIONS_S:
            self._check_partitions(self._ends)
        try:
            first = self._consumer.poll(wait_s)
            messages = [] if first is None else [first, *self._consumer.consume(most - 1, 0)]
        except KafkaException as error:
            raise self._fault("did not return the rows of", error.args[0].str()) from error
        rows = [message for message in messages if message.error() is None]
        partition = np.fromiter((row.partition() for row in rows), np.int32, len(rows))
        offset = np.fromiter((row.offset() for row in rows), np.int64, len(rows))
        for number in np.unique(partition).tolist():
            end = int(offset[partition == number].max()) + 1
            if end > self._ends[number]:
                self._ends[number] = end
                self._at_end.discard(number)
        if len(rows) < len(messages):
            for message in messages:
                self._take_event(message)
        values = [row.value() for row in rows]
        without = None in values
        return Messages(
            partition,
            offset,
            values,
            [row.timestamp()[1] for row in rows] if without else (),
            [row.key() for row in rows] if without else (),
        )

    def _take_event(self, message: Message) -> None:
        error = message.error()
        if error is None:
            return
        partition, offset = message.partition(), message.offset()
        if error.code() == KafkaError._PARTITION_EOF and partition is not None and offset is not None:  # noqa: SLF001  # public by its documents
            # Transaction markers have offsets, but are not rows.
            self._ends[partition] = max(self._ends[partition], offset)
            if self._ends[partition] == offset:
                self._at_end.add(partition)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET and partition is not None:  # noqa: SLF001  # likewise
            self._restart(partition)
        elif not error.retriable() and error.code() not in _TRANSIENT:
            raise self._fault("did not return the rows of", error.str())

    def _check_partitions(self, ends: Mapping[int, int]) -> None:
        """Assign partitions that are not being read yet."""
        self._checked_s = self._clock.monotonic()
        try:
            present = topic_partitions(self._consumer, self._stream.topic, _TIMEOUT_S)
        except KafkaException as error:
            raise self._fault("did not return the partitions of", error.args[0].str()) from error
        if not present:
            raise self._fault("did not find the topic", "it does not exist")
        wanted = present if self._only is None else present & set(self._only)
        new = sorted(wanted - self._ends.keys())
        if not new:
            return
        offsets = open_offsets(self._stream).read()
        for partition in new:
            earliest = offsets[partition].earliest if partition in offsets else 0
            begin = ends.get(partition, earliest)
            if begin < earliest:
                self._lost(partition, begin, earliest)
                begin = earliest
            elif partition in offsets and begin > offsets[partition].latest:
                raise self._fault(
                    "now has fewer rows than were already read of",
                    f"partition {partition} ends at {offsets[partition].latest} but was read up to {begin}",
                )
            self._ends[partition] = begin
        self._assign()

    def _assign(self) -> None:
        self._consumer.assign(
            [TopicPartition(self._stream.topic, partition, end) for partition, end in self._ends.items()]
        )

    def _restart(self, partition: int) -> None:
        """Continue at Kafka's first row, if data loss is allowed."""
        earliest = open_offsets(self._stream).read()[partition].earliest
        if earliest > self._ends[partition]:
            self._lost(partition, self._ends[partition], earliest)
            self._ends[partition] = earliest
        self._assign()

    def _lost(self, partition: int, begin: int, earliest: int) -> None:
        text = (
            f"Kafka has deleted the rows {begin} to {earliest - 1} of {self._stream.topic}, partition "
            f"{partition}, before they were read"
        )
        if not self._allow_data_loss:
            raise SourceError(
                text,
                where=f"{self._stream.topic}, partition {partition}",
                remedy="to continue without these rows, pass --allow-data-loss; queries never see them, "
                "even if the table has them",
            )
        self._note(text)

    def _high(self, partition: int) -> int:
        topic_partition = TopicPartition(self._stream.topic, partition)
        found = self._consumer.get_watermark_offsets(topic_partition, cached=True)
        return int(found[1])

    def _fault(self, what: str, reason: str) -> SourceError:
        return SourceError(
            f"Kafka {what} {self._stream.topic}: {reason}",
            where=self._stream.values.get("stream.kafka.broker.list", ""),
            remedy="check that Kafka is running and that this machine can reach it",
        )


_TRANSIENT = (
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001  # public by its documents
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""Errors from which the consumer recovers by itself."""
