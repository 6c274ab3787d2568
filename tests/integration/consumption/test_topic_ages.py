"""The ages of a topic's rows, as reported by Kafka."""

from __future__ import annotations

import time
import uuid

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from controller_client.errors import NotFoundError
from controller_client.stream.config import StreamConfig
from controller_client.stream.expiry import open_ages
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic

pytestmark = [pytest.mark.kafka]

_HOUR_S = 3600


def stream(kafka: Kafka, topic: str) -> StreamConfig:
    return StreamConfig(
        {
            "streamType": "kafka",
            "stream.kafka.topic.name": topic,
            "stream.kafka.broker.list": kafka.bootstrap,
        }
    )


def configure(kafka: Kafka, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)


def test_rows_expire_by_the_topics_retention_time(kafka: Kafka) -> None:
    topic = Topic(kafka.bootstrap, f"ages-{uuid.uuid4().hex[:8]}", 2)
    try:
        configure(kafka, topic.name, "retention.ms", str(10 * _HOUR_S * 1000))
        topic.produce({0: [{"a": 1}, {"a": 2}, {"a": 3}]})
        ages, now_s = open_ages(stream(kafka, topic.name)), time.time()
        assert ages.read()[0].latest == 3
        assert ages.expiring_until(now_s) == {0: 0, 1: 0}
        # Rows count as expiring after eight of the ten hours.
        assert ages.expiring_until(now_s + 7 * _HOUR_S) == {0: 0, 1: 0}
        assert ages.expiring_until(now_s + 9 * _HOUR_S) == {0: 3, 1: 0}
        configure(kafka, topic.name, "retention.ms", "-1")
        assert ages.expiring_until(now_s + 9 * _HOUR_S) is None
    finally:
        topic.delete()


def test_a_missing_topic(kafka: Kafka) -> None:
    with pytest.raises(NotFoundError):
        open_ages(stream(kafka, "no-such-topic")).expiring_until(time.time())
