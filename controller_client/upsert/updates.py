"""The topic of an upsert table's updates, as who takes the table away sees it."""

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
    """Whether there is a topic in a table's Kafka.

    Raises:
        SourceError: Kafka does not answer.
    """
    with _asking(stream, topic) as admin:
        return bool(topic_partitions(admin, topic, _TIMEOUT_S))


def delete_topic(stream: StreamConfig, topic: str) -> None:
    """Delete a topic of a table's Kafka; none is no error.

    Raises:
        SourceError: Kafka does not answer, or refuses.
    """
    from confluent_kafka import KafkaError, KafkaException

    with _asking(stream, topic) as admin:
        try:
            admin.delete_topics([topic], operation_timeout=_TIMEOUT_S)[topic].result(_TIMEOUT_S * 2)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise


@contextmanager
def _asking(stream: StreamConfig, topic: str) -> Iterator[Any]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        yield AdminClient({**client_settings(stream.values), "log_level": 0})
    except KafkaException as error:
        raise SourceError(
            f"Kafka cannot be asked about {topic}: {error.args[0].str()}",
            where=topic,
            remedy="check that Kafka is up, and that this machine can reach it; then run it again",
        ) from error
