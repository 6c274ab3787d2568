"""What a Kafka client lists about a topic, as ``confluent_kafka`` describes it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaError, KafkaException

from controller_client.stream.offsets import topic_partitions


@dataclass
class Topic:
    partitions: dict[int, object]
    error: KafkaError | None = None


@dataclass
class Lister:
    topics: dict[str, Topic]
    brokers: dict[int, object] = field(default_factory=lambda: {1: object()})

    def list_topics(self, *, timeout: float) -> Lister:
        assert timeout == 3
        return self


def test_the_partitions_of_a_topic() -> None:
    topics = {"t": Topic({0: object(), 1: object()}), "u": Topic({0: object()})}
    assert topic_partitions(Lister(topics), "t", 3) == {0, 1}
    assert topic_partitions(Lister(topics), "v", 3) == set()
    gone = Topic({}, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert topic_partitions(Lister({"t": gone}), "t", 3) == set()


@pytest.mark.parametrize(
    "lister",
    [
        Lister({}, brokers={}),
        Lister({"t": Topic({0: object()})}, brokers={}),
        Lister({"t": Topic({})}),
        Lister({"t": Topic({}, KafkaError(KafkaError.LEADER_NOT_AVAILABLE))}),
        Lister({"t": Topic({}, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))}),
    ],
)
def test_what_is_not_known_is_not_absent(lister: Lister) -> None:
    with pytest.raises(KafkaException):
        topic_partitions(lister, "t", 3)
