"""Reads the offsets of the stream itself. Optional: Pinot 0.11 does not report them.

Requires Kafka, the package ``confluent-kafka`` (``pip install 'pinot-plugins[kafka]'``) and access to the
brokers from this machine. It consumes no messages, creates no topics and uses no consumer groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from controller_client.common.extras import extra_for, install_command
from controller_client.common.redaction import mask_text
from controller_client.common.references import is_template
from controller_client.errors import NotFoundError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.stream.leaders import ask_leader

__all__ = [
    "KafkaOffsets",
    "OffsetRange",
    "StreamOffsets",
    "StreamUnknownError",
    "client_settings",
    "open_kafka",
    "open_offsets",
    "topic_partitions",
]

_Opened = TypeVar("_Opened")

_TIMEOUT_S = 10.0
_BROKERS, _TOPIC = "stream.kafka.broker.list", "stream.kafka.topic.name"
# Keys with the same name in Kafka's Java client and librdkafka; Pinot passes all keys to its client.
_SHARED_KEYS = ("security.protocol", "sasl.mechanism")
_JAAS = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class OffsetRange:
    """The range of offsets in a partition of the stream.

    Attributes:
        earliest: Offset of its first row.
        latest: Offset of its next row.
    """

    earliest: int
    latest: int


class StreamOffsets(Protocol):
    """Reads the offsets of a stream."""

    def read(self) -> Mapping[int, OffsetRange]:
        """Return the current range of each partition.

        Raises:
            NotFoundError: There is no such topic.
            SourceError: The stream does not answer.
        """
        ...


class StreamUnknownError(SourceError):
    """The stream's offsets cannot be read from this machine; the message explains why."""


class TopicLister(Protocol):
    """The interface that the clients of ``confluent_kafka`` have in common."""

    def list_topics(self, *, timeout: float) -> Any:
        """Return the cluster's topics."""
        ...


class KafkaOffsets:
    """Reads the offsets of a Kafka topic.

    Args:
        stream: The table's stream config.

    Raises:
        StreamUnknownError: The package is not installed, or the config uses security settings that only
            Kafka's Java client supports.
    """

    def __init__(self, stream: StreamConfig) -> None:
        try:
            from confluent_kafka import KafkaException
            from confluent_kafka.admin import AdminClient
        except ModuleNotFoundError as error:
            raise StreamUnknownError(
                "the stream's offsets are unknown: the package confluent-kafka is not installed",
                remedy=install_command(extra_for("confluent_kafka")),
            ) from error
        self._topic = stream.topic
        self._brokers = stream.values.get(_BROKERS, "")
        # librdkafka logs to stderr by default; whatever matters comes back as an error of the call.
        try:
            self._admin = AdminClient({**client_settings(stream.values), "log_level": 0})
        except KafkaException as error:
            raise StreamUnknownError(
                f"the stream's offsets are unknown: {mask_text(error.args[0].str())}",
                expected="a stream config that librdkafka accepts too",
            ) from error

    def read(self) -> Mapping[int, OffsetRange]:
        """See :class:`StreamOffsets`; sends two requests for all partitions."""
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # public by its documents

        try:
            numbers = topic_partitions(self._admin, self._topic, _TIMEOUT_S)
            if not numbers:
                raise NotFoundError(
                    f"the topic {self._topic} does not exist",
                    where=self._brokers,
                    remedy="check the topic's name and the list of brokers",
                )
        except KafkaException as error:
            raise self._fault(error.args[0].str()) from error
        partitions = [TopicPartition(self._topic, number) for number in numbers]
        earliest, latest = (
            self._offsets(partitions, getattr(OffsetSpec, end)()) for end in ("earliest", "latest")
        )
        return {number: OffsetRange(earliest[number], latest[number]) for number in sorted(earliest)}

    def _offsets(self, partitions: list[Any], spec: Any) -> dict[int, int]:
        def ask() -> dict[int, int]:
            requested = self._admin.list_offsets(dict.fromkeys(partitions, spec), request_timeout=_TIMEOUT_S)
            return {
                each.partition: future.result(_TIMEOUT_S * 2).offset for each, future in requested.items()
            }

        return ask_leader(ask, self._fault, what=f"reading the offsets of {self._topic}")

    def _fault(self, reason: str) -> SourceError:
        return SourceError(
            f"Kafka did not return the offsets of {self._topic}: {reason}",
            where=self._brokers,
            remedy="check that Kafka is running and that this machine can reach it",
        )


def open_offsets(stream: StreamConfig) -> StreamOffsets:
    """Return a reader for a stream's offsets.

    Raises:
        StreamUnknownError: They cannot be read; the message explains why.
    """
    return open_kafka(stream, KafkaOffsets)


def open_kafka(stream: StreamConfig, make: Callable[[StreamConfig], _Opened]) -> _Opened:
    """Return a reader of a Kafka topic; raises what :func:`open_offsets` raises."""
    if stream.stream_type.lower() != "kafka":
        raise StreamUnknownError(
            f"the stream's offsets are unknown: the stream type is {stream.stream_type!r}", expected="kafka"
        )
    return make(stream)


def topic_partitions(client: TopicLister, topic: str, timeout_s: float) -> set[int]:
    """Return the partitions of a topic; empty if there is no such topic.

    Args:
        client: Any client of ``confluent_kafka``.
        topic: Its name.
        timeout_s: Seconds to wait for Kafka.

    Raises:
        confluent_kafka.KafkaException: Kafka does not answer, or not yet with all it has: a broker that is
            starting lists no brokers, and a topic without a leader no partitions.
    """
    from confluent_kafka import KafkaError, KafkaException

    # Lists all topics: a request for one topic might make the brokers create it.
    metadata = client.list_topics(timeout=timeout_s)
    if not metadata.brokers:
        raise KafkaException(KafkaError(KafkaError.BROKER_NOT_AVAILABLE))
    topic_metadata = metadata.topics.get(topic)
    if topic_metadata is None or (
        topic_metadata.error and topic_metadata.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    ):
        return set()
    if not topic_metadata.partitions:
        raise KafkaException(topic_metadata.error or KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return set(topic_metadata.partitions)


def _is_for_client(key: str) -> bool:
    return key in (_BROKERS, _TOPIC, *_SHARED_KEYS) or key.startswith(("sasl.", "ssl."))


def client_settings(values: Mapping[str, str]) -> dict[str, str]:
    """Translate Pinot's settings for Kafka's Java client: the brokers and the credentials.

    Args:
        values: A table's stream config.

    Returns:
        Settings for confluent-kafka; they may contain a password.

    Raises:
        StreamUnknownError: The config uses security settings that only Kafka's Java client supports, or
            templates, which only Pinot's roles can replace.
    """
    templates = sorted(key for key, value in values.items() if is_template(value) and _is_for_client(key))
    if templates:
        raise StreamUnknownError(
            f"the stream cannot be read from this machine: Pinot's roles replace {', '.join(templates)} by"
            " variables of their environment",
            expected="literal values instead of templates such as ${NAME:default}",
        )
    settings = {"bootstrap.servers": values.get(_BROKERS, "")}
    settings.update((key, values[key]) for key in _SHARED_KEYS if key in values)
    strange = sorted(key for key in values if key.startswith("ssl.") and not key.endswith(".algorithm"))
    jaas = values.get("sasl.jaas.config", "")
    if strange or (settings.get("sasl.mechanism", "PLAIN") in ("GSSAPI", "OAUTHBEARER") and jaas):
        raise StreamUnknownError(
            "the stream cannot be read from this machine: its security settings work only with Kafka's Java "
            f"client ({', '.join(strange) or settings['sasl.mechanism']})",
            expected="no security settings, or SASL with a user name and a password",
        )
    for name, value in _JAAS.findall(jaas):
        settings[f"sasl.{name}"] = re.sub(r"\\(.)", r"\1", value)
    return settings
