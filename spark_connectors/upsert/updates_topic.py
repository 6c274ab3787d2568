"""The updates topic, as the key coordinator makes and writes it."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from controller_client.errors import ConfigError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events, VersionEnd, decode, encode_end, encode_events

__all__ = ["UpdatesTopic"]

_TIMEOUT_S = 30.0
_DELIVERY_TIMEOUT_MS = 120_000
_CHECKS, _CHECK_EVERY_S = 300, 0.1


class UpdatesTopic:
    """Makes, extends and writes the topic; one thread at a time.

    Args:
        stream: The table's stream config: the topic is in the same Kafka.
        name: Its name.

    Raises:
        StreamUnknownError: The access is set up in a way that only Java's client has.
    """

    def __init__(self, stream: StreamConfig, name: str) -> None:
        self.name = name
        # librdkafka writes to stderr on its own; what matters comes back as an error of the call.
        self._settings: dict[str, Any] = {**client_settings(stream.values), "log_level": 0}
        self._admin = AdminClient(self._settings)
        self._producer = Producer(
            {
                **self._settings,
                "enable.idempotence": True,
                "acks": "all",
                # A broker may refuse a batch while a partition is new. If it then takes the next one, which
                # was under way, it drops the first, sent again, as a duplicate: those messages are lost.
                "max.in.flight": 1,
                "compression.type": "lz4",
                "linger.ms": 5,
                "message.timeout.ms": _DELIVERY_TIMEOUT_MS,
            }
        )
        self._partitions = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.purge()
        self._producer.flush(0)

    def ensure(self, partitions: int, *, retention_ms: int, replication: int) -> int:
        """Make the topic, or give it more partitions.

        Args:
            partitions: How many there are to be at least.
            retention_ms: Of a new topic.
            replication: Of a new topic.

        Returns:
            How many there are.

        Raises:
            ConfigError: There is a topic of that name which Kafka compacts.
            SourceError: Kafka does not answer, or refuses.
        """
        if partitions <= self._partitions:
            return self._partitions
        there = self._count(self._admin)
        try:
            if there == 0:
                config = {"cleanup.policy": "delete", "retention.ms": str(retention_ms)}
                new = NewTopic(self.name, partitions, replication, config=config)
                self._admin.create_topics([new])[self.name].result(_TIMEOUT_S)
            else:
                self._refuse_compaction()
                if there < partitions:
                    more = NewPartitions(self.name, partitions)
                    self._admin.create_partitions([more])[self.name].result(_TIMEOUT_S)
        except KafkaException as error:
            raise self._fault("does not make or extend", error) from error
        self._wait_visible(max(there, partitions))
        self._partitions = max(there, partitions)
        return self._partitions

    def newest_version(self) -> int:
        """The newest version of which there is a message; ``NIL`` for none.

        Versions grow in each partition, so the last message of each shows it.

        Raises:
            SourceError: Kafka does not answer, or the topic has messages of somebody else.
        """
        newest = NIL
        consumer = Consumer({**self._settings, "group.id": f"{self.name}.look", "enable.auto.commit": False})
        try:
            for partition in range(self._count(self._admin)):
                place = TopicPartition(self.name, partition)
                low, high = consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)
                if low == high:
                    continue
                consumer.assign([TopicPartition(self.name, partition, high - 1)])
                message = consumer.poll(_TIMEOUT_S)
                if message is None or message.error():
                    raise SourceError(
                        f"the last message of {self.name}, partition {partition}, cannot be read",
                        where=f"{self.name}, partition {partition}, offset {high - 1}",
                        remedy="is Kafka up?",
                    )
                where = f"{self.name}, partition {partition}, offset {high - 1}"
                newest = max(newest, decode(message.value() or b"", where=where).version)
        except KafkaException as error:
            raise self._fault("did not return the last messages of", error) from error
        finally:
            consumer.close()
        return newest

    def send_events(self, events: Mapping[int, Events]) -> None:
        """Send events, by partition; they are on disk in Kafka when this returns.

        Raises:
            SourceError: Kafka did not take all of them; it may have some.
        """
        self._send([(p, message) for p, each in events.items() for message in encode_events(each)])

    def send_ends(self, ends: Mapping[int, VersionEnd]) -> None:
        """Send the end of a version to each partition; errors as of :meth:`send_events`."""
        self._send([(partition, encode_end(end)) for partition, end in ends.items()])

    def _send(self, messages: list[tuple[int, bytes]]) -> None:
        faults: list[KafkaError] = []

        def delivered(fault: KafkaError | None, _message: object) -> None:
            if fault is not None:
                faults.append(fault)

        for partition, value in messages:
            while True:
                try:
                    self._producer.produce(self.name, value, partition=partition, on_delivery=delivered)
                    break
                except BufferError:
                    self._producer.poll(1.0)
                except KafkaException as error:
                    raise self._fault("does not accept messages for", error) from error
        # Each message has its own time limit, so this ends.
        while self._producer.flush(_TIMEOUT_S):
            pass
        if faults:
            raise self._fault("did not accept all messages for", KafkaException(faults[0]))

    def _wait_visible(self, partitions: int) -> None:
        """Wait until the producer knows the partitions: it refuses messages for others."""
        for _ in range(_CHECKS):
            if self._count(self._producer) >= partitions:
                return
            self._producer.poll(_CHECK_EVERY_S)
        raise SourceError(
            f"the topic {self.name} was made or extended, but Kafka does not show {partitions} partitions",
            where=str(self._settings["bootstrap.servers"]),
            remedy="see Kafka's log",
        )

    def _count(self, client: AdminClient | Producer) -> int:
        try:
            return len(topic_partitions(client, self.name, _TIMEOUT_S))
        except KafkaException as error:
            raise self._fault("did not return the partitions of", error) from error

    def _refuse_compaction(self) -> None:
        asked = ConfigResource(ConfigResource.Type.TOPIC, self.name)
        policy = self._admin.describe_configs([asked])[asked].result(_TIMEOUT_S)["cleanup.policy"].value
        if "compact" in str(policy):
            raise ConfigError(
                f"the topic {self.name} has the cleanup.policy {policy}",
                expected="delete: its messages have no keys",
                where=self.name,
                remedy="set the policy, or name another topic",
            )

    def _fault(self, what: str, error: KafkaException) -> SourceError:
        return SourceError(
            f"Kafka {what} {self.name}: {error.args[0].str()}",
            where=str(self._settings["bootstrap.servers"]),
            remedy="check that Kafka is up, and that this machine can reach it",
        )
