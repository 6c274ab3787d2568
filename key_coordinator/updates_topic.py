"""Writes the updates topic, for the key coordinator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from controller_client.common.closing import Closing
from controller_client.errors import ConflictError, OutcomeUnknownError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings
from controller_client.upsert.update_message import (
    Events,
    VersionEnd,
    VersionRecord,
    encode_end,
    encode_events,
    encode_record,
)
from key_coordinator.topic_settings import TopicSettings, partition_count, topic_fault

__all__ = ["UpdatesWriter"]

_TIMEOUT_S = 30.0
_DELIVERY_TIMEOUT_MS = 120_000
_TRANSACTION_TIMEOUT_MS = 60_000
_CHECKS, _CHECK_EVERY_S = 300, 0.1
_COMMIT_TRIES = 3
_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # noqa: SLF001  # public by its documents


class UpdatesWriter(Closing):
    """Writes the topic; not thread-safe.

    Args:
        stream: The table's stream config: the topic is in the same Kafka cluster.
        name: The topic's name.
        settings: Creates and extends the topic.
        transactional_id: The name for transactional writes; a new writer with this name aborts the open
            transactions of older ones and fences them off. None: no transactions.

    Raises:
        StreamUnknownError: The stream config uses security settings that only Kafka's Java client supports.
    """

    def __init__(
        self, stream: StreamConfig, name: str, settings: TopicSettings, transactional_id: str | None = None
    ) -> None:
        self.name = name
        self._topic = settings
        self._in_transactions = transactional_id is not None
        # librdkafka logs to stderr by default; whatever matters comes back as an error of the call.
        self._settings: dict[str, Any] = {**client_settings(stream.values), "log_level": 0}
        self._producer = Producer(
            {
                **self._settings,
                "enable.idempotence": True,
                "acks": "all",
                # A broker may refuse a batch while a partition is new. If it then accepts the next batch,
                # which was in flight, it drops the retried first one as a duplicate: those messages are lost.
                "max.in.flight": 1,
                "compression.type": "lz4",
                "linger.ms": 5,
                **(
                    {"transactional.id": transactional_id, "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS}
                    if transactional_id
                    else {"message.timeout.ms": _DELIVERY_TIMEOUT_MS}
                ),
            }
        )
        self._partitions = 0

    def close(self) -> None:
        """Drop what was not sent yet."""
        self._producer.purge()
        self._producer.flush(0)

    def ensure(self, partitions: int) -> int:
        """Create the topic, or add partitions to it; see :meth:`TopicSettings.ensure`."""
        if partitions > self._partitions:
            there = self._topic.ensure(partitions)
            self._wait_visible(there)
            self._partitions = there
        return self._partitions

    def fence(self) -> None:
        """Start transactional writes; another writer's open transaction is aborted and the writer fenced off.

        Raises:
            SourceError: Kafka does not answer.
        """
        try:
            self._producer.init_transactions(_TIMEOUT_S * 2)
        except KafkaException as error:
            raise self._fault("did not start transactions on", error) from error

    def send_version(
        self, events: Mapping[int, Events], ends: Mapping[int, VersionEnd], record: VersionRecord
    ) -> int:
        """Send a version in one transaction: all of it, or nothing.

        Args:
            events: Events by partition.
            ends: Version ends by partition; none while a rebuild holds them back.
            record: The version's record.

        Returns:
            The offset of the record in partition 0.

        Raises:
            ConflictError: Another process now writes under this name; nothing was sent.
            SourceError: Kafka did not accept the version; nothing was sent.
            OutcomeUnknownError: The reply to the commit was lost: start over by reading back what was sent.
        """
        offsets: list[int] = []
        try:
            self._producer.begin_transaction()
            self._send(
                [
                    *((p, message) for p, each in events.items() for message in encode_events(each)),
                    *((p, encode_end(end)) for p, end in ends.items()),
                ]
            )
            self._send([(0, encode_record(record))], offsets)
        except (KafkaException, SourceError) as error:
            raise self._abort(error) from error
        self._commit(record.version)
        return offsets[0]

    def _commit(self, version: int) -> None:
        for attempt in range(_COMMIT_TRIES):
            try:
                self._producer.commit_transaction(_TIMEOUT_S)
                return
            except KafkaException as error:
                fault = error.args[0]
                if fault.txn_requires_abort() or fault.fatal():
                    raise self._abort(error) from error
                if not fault.retriable() or attempt == _COMMIT_TRIES - 1:
                    raise OutcomeUnknownError(
                        f"version {version} may or may not be in {self.name}: {fault.str()}",
                        where=self._brokers,
                    ) from error

    def _abort(self, error: KafkaException | SourceError) -> SourceError | ConflictError:
        """Abort a failed transaction and return the error to raise."""
        fault = error.args[0] if isinstance(error, KafkaException) else None
        if fault is not None and fault.code() in _FENCED:
            return ConflictError(
                f"another key coordinator now writes to {self.name}",
                where=self._brokers,
            )
        with suppress(KafkaException):  # the next writer's start aborts it, too
            self._producer.abort_transaction(_TIMEOUT_S)
        return error if isinstance(error, SourceError) else self._fault("did not accept a version for", error)

    def send_events(self, events: Mapping[int, Events]) -> None:
        """Send events by partition; Kafka has acknowledged them when this returns.

        Raises:
            SourceError: Kafka did not accept all of them; it may have some.
        """
        self._send([(p, message) for p, each in events.items() for message in encode_events(each)])

    def send_ends(self, ends: Mapping[int, VersionEnd]) -> None:
        """Send the end of a version to each partition; raises what :meth:`send_events` raises."""
        self._send([(partition, encode_end(end)) for partition, end in ends.items()])

    def _send(self, messages: Sequence[tuple[int, bytes]], offsets: list[int] | None = None) -> None:
        faults: list[KafkaError] = []

        def delivered(fault: KafkaError | None, message: Message) -> None:
            if fault is not None:
                faults.append(fault)
            elif offsets is not None:
                offsets.append(message.offset() or 0)

        for partition, value in messages:
            while True:
                try:
                    self._producer.produce(self.name, value, partition=partition, on_delivery=delivered)
                    break
                except BufferError:
                    self._producer.poll(1.0)
                except KafkaException as error:
                    raise self._fault("did not accept messages for", error) from error
        # This ends: either each message or the transaction has a time limit.
        while self._producer.flush(_TIMEOUT_S):
            pass
        if faults:
            fenced = [each for each in faults if each.code() in _FENCED]
            if fenced:
                raise KafkaException(fenced[0])
            raise self._fault("did not accept all messages for", KafkaException(faults[0]))

    def _wait_visible(self, partitions: int) -> None:
        """Wait until the producer knows the partitions: it refuses messages for unknown ones."""
        for _ in range(_CHECKS):
            if partition_count(self._producer, self.name, self._brokers) >= partitions:
                return
            self._producer.poll(_CHECK_EVERY_S)
        raise SourceError(
            f"the topic {self.name} was created or extended, but Kafka does not list {partitions} partitions",
            where=self._brokers,
            remedy="check Kafka's log",
        )

    @property
    def _brokers(self) -> str:
        return str(self._settings["bootstrap.servers"])

    def _fault(self, what: str, error: KafkaException) -> SourceError:
        return topic_fault(self.name, self._brokers, what, error.args[0].str())
