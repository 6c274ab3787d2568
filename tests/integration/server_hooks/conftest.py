"""Realtime tables on the two servers hosted in Python."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
import requests

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.consumption import TableControl
from controller_client.consumption.paused_partitions import PartitionPauses, read_partition_pauses
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster
from tests.support.deleting import delete_realtime
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0

MakeTopicTable = Callable[..., "TopicTable"]


@dataclass
class TopicTable:
    """A table, its topic, and the rows produced into it.

    Attributes:
        name: The name of the table, without type, and of its topic.
        produced: The values by partition.
    """

    name: str
    pinot: PinotCluster
    client: ControllerClient
    store: PropertyStore
    broker: BrokerClient
    topic: Topic
    produced: dict[int, list[int]]

    @property
    def full_name(self) -> TableName:
        """The table's name with its type."""
        return TableName(f"{self.name}_REALTIME")

    def control(self) -> TableControl:
        """The argument of the functions that control consumption."""
        return TableControl(self.client, self.store, self.full_name)

    def pauses(self) -> PartitionPauses:
        """The paused partitions."""
        return read_partition_pauses(self.store, self.full_name, read_ideal_state(self.store, self.full_name))

    def produce(self, partition: int, count: int) -> None:
        """Write rows to a partition; each row of a table has a unique number."""
        values = self.produced.setdefault(partition, [])
        first = 1_000_000 * partition + len(values)
        numbers = range(first, first + count)
        self.topic.produce({partition: [{"number": n, "part": partition, "ts": n} for n in numbers]})
        values.extend(numbers)

    def seen(self) -> dict[int, list[int]]:
        """Return the sorted numbers that a query sees by partition, duplicates included."""
        rows = self.broker.query(f"SELECT part, number FROM {self.name} LIMIT 1000000").rows
        found: dict[int, list[int]] = {}
        for partition, number in rows:
            found.setdefault(int(partition), []).append(int(number))
        return {partition: sorted(numbers) for partition, numbers in found.items()}

    def settled(self) -> dict[int, list[int]]:
        """Return the numbers that queries see, once both replicas agree."""
        answers: list[dict[int, list[int]]] = []

        def same() -> bool:
            answers.append(self.seen())
            return answers[-1] == answers[max(0, len(answers) - 2)]

        wait_for(same, f"both replicas of {self.name} to agree", _TIMEOUT_S, times=5)
        return answers[-1]

    def wait_seen(self, expected: dict[int, list[int]]) -> None:
        """Wait until queries see exactly these numbers, on both replicas."""
        what = f"{self.name} to have {_counts(expected)} rows"
        wait_for(lambda: self.seen() == expected, what, _TIMEOUT_S, times=4)

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
        ask_controller(self, "POST", f"tables/{self.name}/rebalance", **options)

    def consuming(self) -> dict[int, str]:
        """The consuming segment of each partition, by the ideal state."""
        names = read_ideal_state(self.store, self.full_name).consuming
        return {int(name.split("__")[1]): name for name in names}


def ask_controller(table: TopicTable, method: str, path: str, **parameters: str) -> None:
    """Call an endpoint of the controller that the client has no method for."""
    answer = requests.request(method, f"{table.pinot.controller_url}/{path}", params=parameters, timeout=300)
    answer.raise_for_status()


def _counts(numbers: dict[int, list[int]]) -> dict[int, int]:
    return {partition: len(values) for partition, values in numbers.items()}


@pytest.fixture
def make_topic_table(
    pinot: PinotCluster, hosted_servers: Sequence[str], kafka: Kafka
) -> Iterator[MakeTopicTable]:
    """Return a function that creates tables, by default with two replicas on the hosted servers."""
    made: list[TopicTable] = []
    with (
        pinot.client() as client,
        pinot.broker() as broker,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):

        def make(
            partitions: int,
            *,
            replicas: int = 2,
            tenant: str = HOSTED_TENANT,
            pauseless: bool = False,
            **stream: str,
        ) -> TopicTable:
            name = f"topic_{uuid.uuid4().hex[:8]}"
            topic = Topic(kafka.bootstrap, name, partitions)
            schema = realtime_schema(name, {"part": "INT"}, {"number": "LONG"})
            client.schemas.create(Schema.from_json(schema))
            config = realtime_table(
                name,
                kafka,
                replicas=replicas,
                tenant=tenant,
                pauseless=pauseless,
                peers=replicas > 1,  # with one replica there is no peer, and Pinot 1.x rejects it
                stream={"stream.kafka.fetch.timeout.millis": "500", **stream},
            )
            client.tables.create(TableConfig.from_json(config))
            table = TopicTable(name, pinot, client, store, broker, topic, {})
            made.append(table)
            return table

        yield make
        for table in made:
            delete_realtime(client, table.full_name)
            table.topic.delete()
