"""Finds and deletes an upsert table's updates topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from controller_client.errors import SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, topic_partitions

__all__ = ["delete_topic", "topic_exists"]

_TIMEOUT_S = 30.0


def topic_exists(stream: StreamConfig, topic: str) -> bool:
    """Whether a topic exists in a table's Kafka cluster.

    Raises:
        SourceError: Kafka does not answer.
    """
    with _admin_of(stream, topic) as admin:
        return bool(topic_partitions(admin, topic, _TIMEOUT_S))


def delete_topic(stream: StreamConfig, topic: str) -> None:
    """Delete a topic of a table's Kafka cluster, if it exists.

    Raises:
        SourceError: Kafka does not answer, or refuses the request.
    """
    from confluent_kafka import KafkaError, KafkaException

    with _admin_of(stream, topic) as admin:
        try:
            admin.delete_topics([topic], operation_timeout=_TIMEOUT_S)[topic].result(_TIMEOUT_S * 2)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise


@contextmanager
def _admin_of(stream: StreamConfig, topic: str) -> Iterator[Any]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        yield AdminClient({**client_settings(stream.values), "log_level": 0})
    except KafkaException as error:
        raise SourceError(
            f"the request to Kafka for the topic {topic} failed: {error.args[0].str()}",
            where=topic,
            remedy="check that Kafka is running and that this machine can reach it, then try again",
        ) from error
