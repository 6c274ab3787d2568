"""Topics with several partitions on the session's Kafka node, their rows, and deletion as by retention."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its docs
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
)

from tests.support.wait import wait_for

__all__ = ["Topic", "read_committed", "topic_setting", "wait_for_setting"]

_TIMEOUT_S = 300.0
_MANY = 5000
_NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


class Topic:
    """One topic.

    Args:
        bootstrap: Kafka's address.
        name: The topic's name.
        partitions: Number of partitions; None for an existing topic.
    """

    def __init__(self, bootstrap: str, name: str, partitions: int | None = None) -> None:
        self.bootstrap = bootstrap
        self.name = name
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5})
        if partitions is not None:
            self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(_TIMEOUT_S)

    def produce(self, rows: Mapping[int, Iterable[Mapping[str, object]]]) -> None:
        """Write rows as JSON to their partitions; return once Kafka has them."""
        faults: list[object] = []

        def delivered(fault: object, _message: object) -> None:
            if fault is not None:
                faults.append(fault)

        for partition, documents in rows.items():
            for document in documents:
                self._producer.produce(
                    self.name, json.dumps(document).encode(), partition=partition, on_delivery=delivered
                )
                self._producer.poll(0)
        left = self._producer.flush(_TIMEOUT_S)
        assert not left, f"{left} rows were not accepted by Kafka"
        assert not faults, faults

    def drop_before(self, offsets: Mapping[int, int]) -> None:
        """Delete the rows before an offset of each partition, as retention would."""
        places = [TopicPartition(self.name, partition, offset) for partition, offset in offsets.items()]
        for place in places:
            # A committed transaction's marker, an offset of its own, is written after the commit's reply.
            wait_for(partial(self._ends_at, place), f"offset {place.offset} in {self.name}", _TIMEOUT_S)
        for future in self._admin.delete_records(places).values():
            future.result(_TIMEOUT_S)

    def _ends_at(self, place: TopicPartition) -> bool:
        partition = TopicPartition(place.topic, place.partition)
        # confluent_kafka has no type for it.
        spec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        (latest,) = self._admin.list_offsets({partition: spec}).values()
        return bool(latest.result(_TIMEOUT_S).offset >= place.offset)

    def delete(self) -> None:
        """Delete the topic if it exists. Nothing can be produced after that."""
        # Otherwise its threads continue, and log errors when Kafka stops.
        self.__dict__.pop("_producer", None)
        try:
            self._admin.delete_topics([self.name])[self.name].result(_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":
                raise


def read_committed(
    bootstrap: str, topic: str, partition: int, take: Callable[[Message], None], first: int = 0
) -> int:
    """Pass on the current messages of a partition, except those of aborted transactions.

    Args:
        bootstrap: Kafka's address.
        topic: The topic.
        partition: The partition.
        take: Called with each message.
        first: The offset to start at, or at the first existing one after it.

    Returns:
        The offset after the last one.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-alone",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        place = TopicPartition(topic, partition)
        oldest, end = _watermarks(consumer, place)
        position = max(first, oldest)
        consumer.assign([TopicPartition(topic, partition, position)])
        while position < end:
            for message in consumer.consume(min(_MANY, end - position), timeout=1.0):
                assert message.error() is None, message.error()
                take(message)
            # It skips transaction markers, which are not messages.
            position = max(position, consumer.position([place])[0].offset)
    finally:
        consumer.close()
    return end


def _watermarks(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """The first offset of a partition and its next one; a new topic may have no leader yet."""

    def asked() -> tuple[int, int] | None:
        try:
            return consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in _NO_LEADER_YET:
                raise
            return None

    found = wait_for(asked, f"a leader of {place.topic}, partition {place.partition}")
    assert found is not None
    return found


def topic_setting(admin: AdminClient, topic: str, name: str) -> str:
    """Return a setting of a topic, as the broker has it."""
    asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(admin.describe_configs([asked])[asked].result(_TIMEOUT_S)[name].value)


def wait_for_setting(admin: AdminClient, topic: str, name: str, value: str) -> None:
    """Wait until the broker has a setting, which its controller tells it a moment after the change."""
    wait_for(lambda: topic_setting(admin, topic, name) == value, f"{name} of {topic} to be {value}")
