"""Kafka steps of hidden blocks: create topics, write messages, have the stream drop some."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # public by its docs

__all__ = ["drop_before", "make_topic", "produce", "realtime_table"]

_TIMEOUT_S = 300.0
_FIRST_MS = 1_767_225_600_000
_PLUGIN = "org.apache.pinot.plugin.stream"


def make_topic(kafka: str, topic: str, partitions: int) -> None:
    """Create a topic."""
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(_TIMEOUT_S)


def produce(kafka: str, topic: str, partitions: int, rows: int, *, first: int = 0) -> None:
    """Write this number of rows to each partition, with a page, a duration and a time."""
    producer = Producer({"bootstrap.servers": kafka, "acks": "all"})
    for partition in range(partitions):
        for number in range(first, first + rows):
            row = {"page": f"/page/{number % 7}", "ms": 5 + number % 90, "ts": _FIRST_MS + 1000 * number}
            producer.produce(topic, json.dumps(row), partition=partition)
    assert producer.flush(_TIMEOUT_S) == 0


def drop_before(kafka: str, topic: str, partition: int, offset: int) -> None:
    """Delete the messages before an offset, as a topic's retention does."""
    admin = AdminClient({"bootstrap.servers": kafka})
    (done,) = admin.delete_records([TopicPartition(topic, partition, offset)]).values()
    done.result(_TIMEOUT_S)


def realtime_table(kafka: str, name: str) -> dict[str, Any]:
    """The config of a table that reads the topic of the same name and notices a pause quickly."""
    stream = "stream.kafka"
    return {
        "tableName": name,
        "tableType": "REALTIME",
        "segmentsConfig": {
            "schemaName": name,
            "timeColumnName": "ts",
            "replication": "1",
            "replicasPerPartition": "1",
        },
        "tenants": {},
        "tableIndexConfig": {
            "streamConfigs": {
                "streamType": "kafka",
                f"{stream}.topic.name": name,
                f"{stream}.broker.list": kafka,
                f"{stream}.consumer.type": "lowlevel",
                f"{stream}.consumer.prop.auto.offset.reset": "smallest",
                f"{stream}.consumer.factory.class.name": f"{_PLUGIN}.kafka20.KafkaConsumerFactory",
                f"{stream}.decoder.class.name": f"{_PLUGIN}.kafka.KafkaJSONMessageDecoder",
                f"{stream}.fetch.timeout.millis": "500",
            }
        },
        "metadata": {},
    }
