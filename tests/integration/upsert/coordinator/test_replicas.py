"""The replicas of the updates topic, on a Kafka cluster of three nodes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
    AdminClient,
    ConfigResource,
    NewTopic,
)

from controller_client.clock import SystemClock
from controller_client.stream.config import StreamConfig
from key_coordinator.topic_settings import TopicSettings
from tests.support.kafka import kafka_node
from tests.support.processes import ProcessBackend
from tests.support.service import wait_ready
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [FULL]

_TIMEOUT_S = 300.0
_NODES = 3


def _free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[str]:
    backend = ProcessBackend(tmp_path)
    controller, *addresses = (_free_address() for _ in range(_NODES + 1))
    try:
        nodes = [
            backend.launch(kafka_node(f"kafka{number}", number, address, controller))
            for number, address in enumerate(addresses, 1)
        ]
        for node in nodes:
            wait_ready(node, _TIMEOUT_S)
        yield ",".join(addresses)
    finally:
        backend.close()


class Place:
    """The cluster, with an input topic of three replicas."""

    def __init__(self, brokers: str) -> None:
        self.admin = AdminClient({"bootstrap.servers": brokers})
        wait_for(lambda: len(self.admin.list_topics().brokers) == _NODES, "the brokers", _TIMEOUT_S)
        self.make("input", _NODES)
        self.stream = StreamConfig(
            {
                "streamType": "kafka",
                "stream.kafka.broker.list": brokers,
                "stream.kafka.topic.name": "input",
            }
        )
        self.notes: list[str] = []

    def make(self, name: str, replicas: int) -> None:
        self.admin.create_topics([NewTopic(name, 2, replicas)])[name].result(_TIMEOUT_S)
        self.wait_created(name)

    def wait_created(self, name: str) -> None:
        """Wait until the brokers know a topic."""
        wait_for(lambda: self._knows(name), f"the topic {name}", _TIMEOUT_S)

    def _knows(self, name: str) -> bool:
        asked = ConfigResource(ConfigResource.Type.TOPIC, name)
        try:
            self.admin.describe_configs([asked])[asked].result(_TIMEOUT_S)
        except KafkaException:
            return False
        return name in self.admin.list_topics().topics

    def settings(self, name: str, replication: int | None = None) -> TopicSettings:
        return TopicSettings(
            self.stream,
            name,
            needed_ms=lambda: 1000,
            replication=replication,
            clock=SystemClock(),
            note=self.notes.append,
        )

    def replicas(self, name: str) -> tuple[set[int], str]:
        """The numbers of replicas of a topic's partitions, and how many of them must have a message."""
        found = self.admin.list_topics(timeout=_TIMEOUT_S).topics[name]
        asked = ConfigResource(ConfigResource.Type.TOPIC, name)
        config = self.admin.describe_configs([asked])[asked].result(_TIMEOUT_S)
        counts = {len(partition.replicas) for partition in found.partitions.values()}
        return counts, str(config["min.insync.replicas"].value)


def test_the_updates_topic_has_as_many_replicas_as_its_input(brokers: str) -> None:
    place = Place(brokers)
    place.settings("updates").ensure(2)
    place.wait_created("updates")
    assert place.replicas("updates") == ({3}, "2")
    place.settings("updates").check()
    place.settings("chosen", replication=2).ensure(2)
    place.wait_created("chosen")
    assert place.replicas("chosen") == ({2}, "1")
    place.settings("chosen", replication=2).check()
    assert not any("replication" in note for note in place.notes)
    # As a release before this one created it.
    place.make("older", 1)
    older = place.settings("older")
    older.ensure(2)
    older.check()
    (told,) = (note for note in place.notes if "replication factor 1, input has 3" in note)
    assert "min.insync.replicas=2" in told
    assert place.replicas("older")[0] == {1}
