"""Realtime tables on the two servers hosted in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from controller_client.consumption import TableControl
from controller_client.consumption.state.partition_record import PartitionPauses, read_partition_pauses
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.models import Schema, TableConfig
from tests.integration.upsert.realtime_table import Clients, RealtimeTable, making
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0

MakeTopicTable = Callable[..., "TopicTable"]


class TopicTable(RealtimeTable):
    """A table and the rows produced into its topic.

    Args:
        clients: The clients.
        partitions: The number of partitions.
        replicas: The number of replicas.
        tenant: Its server tenant.
        pauseless: Whether the next segment consumes while one is built (Pinot 1.4 and later).
        stream: Settings of the stream.

    Attributes:
        produced: The values by partition.
    """

    def __init__(
        self,
        clients: Clients,
        partitions: int,
        *,
        replicas: int = 2,
        tenant: str = HOSTED_TENANT,
        pauseless: bool = False,
        **stream: str,
    ) -> None:
        super().__init__(clients, "topic", partitions)
        self.produced: dict[int, list[int]] = {}
        schema = realtime_schema(self.name, {"part": "INT"}, {"number": "LONG"})
        self.client.schemas.create(Schema.from_json(schema))
        config = realtime_table(
            self.name,
            self.kafka,
            replicas=replicas,
            tenant=tenant,
            pauseless=pauseless,
            peers=replicas > 1,  # with one replica there is no peer, and Pinot 1.x rejects it
            stream={"stream.kafka.fetch.timeout.millis": "500", **stream},
        )
        self.client.tables.create(TableConfig.from_json(config))

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
        what = f"{self.name} to have { {part: len(values) for part, values in expected.items()} } rows"
        wait_for(lambda: self.seen() == expected, what, _TIMEOUT_S, times=4)


@pytest.fixture
def make_topic_table(
    pinot: PinotCluster, hosted_servers: Sequence[str], kafka: Kafka
) -> Iterator[MakeTopicTable]:
    """Return a function that creates tables, by default with two replicas on the hosted servers."""
    with making(pinot, kafka, TopicTable) as make:
        yield make
