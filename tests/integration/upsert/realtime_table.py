"""Realtime tables with topics of their own, and the clients with which tests use them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import requests

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.models import TableConfig
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.wait import wait_for

__all__ = ["Clients", "RealtimeTable", "making", "open_clients"]

_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Clients:
    """The cluster and clients of its roles."""

    pinot: PinotCluster
    kafka: Kafka
    client: ControllerClient
    store: PropertyStore
    broker: BrokerClient


@contextmanager
def open_clients(pinot: PinotCluster, kafka: Kafka) -> Iterator[Clients]:
    """Provide clients of the cluster."""
    with (
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
        pinot.broker() as broker,
    ):
        yield Clients(pinot, kafka, client, store, broker)


class RealtimeTable:
    """A table that reads the topic of its name.

    Args:
        clients: The clients.
        prefix: Of its name.
        partitions: The number of partitions of its topic.

    Attributes:
        name: Its name without type.
        full_name: Its name with type.
        topic: Its topic.
    """

    def __init__(self, clients: Clients, prefix: str, partitions: int) -> None:
        self.name = f"{prefix}_{uuid.uuid4().hex[:8]}"
        self.full_name = TableName(f"{self.name}_REALTIME")
        self.pinot, self.kafka, self.client = clients.pinot, clients.kafka, clients.client
        self.store, self.broker = clients.store, clients.broker
        self.topic = Topic(self.kafka.bootstrap, self.name, partitions)
        self.updates_topic = f"{self.full_name}.updates"

    def delete(self) -> None:
        """Delete the table, its schema and its topics; nothing can be produced after that."""
        drop(self.client, self.name)
        self.topic.delete()
        Topic(self.kafka.bootstrap, self.updates_topic).delete()

    def segments(self) -> Mapping[str, Mapping[str, str]]:
        """Segments of the ideal state, with their states by server."""
        return read_ideal_state(self.store, self.full_name).segments

    def consuming(self) -> dict[int, str]:
        """The consuming segment of each partition, by the ideal state."""
        names = read_ideal_state(self.store, self.full_name).consuming
        return {int(name.split("__")[1]): name for name in names}

    def wait_served(self, replicas: int | None = None) -> None:
        """Wait until the servers match the ideal state and each segment has this number of servers."""
        tables = self.client.tables

        def served() -> bool:
            ideal = tables.ideal_state(self.full_name)
            enough = all(replicas in (None, len(states)) for states in ideal.values())
            return enough and tables.external_view(self.full_name) == ideal

        wait_for(served, f"{self.name} to be served", _TIMEOUT_S)

    def set_replicas(self, count: int) -> None:
        """Change the number of replicas and rebalance; replicas fetch segments from each other."""
        config = self.client.tables.get(self.full_name).to_json()
        config["segmentsConfig"].update(
            replication=str(count), replicasPerPartition=str(count), peerSegmentDownloadScheme="http"
        )
        self.client.tables.update(TableConfig.from_json(config))
        options = {"type": "REALTIME", "includeConsuming": "true", "downtime": "true"}
        # Pinot 1.x may otherwise refuse if segments have no copy in the deep store; none is moved here.
        options["allowPeerDownloadDataLoss"] = "true"
        self.ask_controller("POST", f"tables/{self.name}/rebalance", **options)

    def run_periodic_task(self, name: str) -> None:
        """Have the controller run one of its periodic tasks for this table now."""
        options = {"taskname": name, "tableName": self.name, "type": "REALTIME"}
        self.ask_controller("GET", "periodictask/run", **options)

    def ask_controller(self, method: str, path: str, **parameters: str) -> None:
        """Make a controller call for which the client has no method."""
        url = f"{self.pinot.controller_url}/{path}"
        requests.request(method, url, params=parameters, timeout=_TIMEOUT_S).raise_for_status()


T = TypeVar("T", bound=RealtimeTable)


@contextmanager
def making(pinot: PinotCluster, kafka: Kafka, kind: Callable[..., T]) -> Iterator[Callable[..., T]]:
    """Provide a function that makes tables of a class, which are deleted in the end.

    Args:
        pinot: The cluster.
        kafka: Its Kafka.
        kind: The class; it gets clients, and the arguments of the function.
    """
    made: list[T] = []
    with open_clients(pinot, kafka) as clients:

        def make(*arguments: object, **options: object) -> T:
            made.append(kind(clients, *arguments, **options))
            return made[-1]

        yield make
        for table in made:
            table.delete()
