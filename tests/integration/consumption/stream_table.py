"""A realtime table on a topic with several partitions, in which each row is counted."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.consumption import TableControl, TableState, TableStatus
from controller_client.errors import QueryError
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.wait import wait_for

_FIRST_TS = 1_700_000_000_000

SECRET_KEY = "sasl.jaas.config"
"""A key in each table's stream config; the client accepts it, and Kafka does not require it."""


def secret_value(password: str) -> str:
    """Return a value of the secret key."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return f'{module} required username="me" password="{password}";'


def quietly(timeout_s: float = 300.0) -> dict[str, Any]:
    """Return the options of a recipe whose steps are of no interest."""
    return {"timeout_s": timeout_s, "report": lambda _line: None}


class StreamTable:
    """A table, its topic, and the rows that were produced.

    Each row has a unique number, which shows missing and duplicate rows.

    Attributes:
        name: Raw name.
        table: Name with type.
        topic: The topic that it reads.
        produced: Numbers of all rows that the table should have.
    """

    def __init__(
        self,
        pinot: PinotCluster,
        kafka: Kafka,
        client: ControllerClient,
        broker: BrokerClient,
        store: PropertyStore,
        partitions: int,
        database: str | None = None,
    ) -> None:
        name = f"t_{uuid.uuid4().hex[:12]}"
        self.name = f"{database}.{name}" if database else name
        self.table = TableName(f"{self.name}_REALTIME")
        self.pinot = pinot
        self.kafka = kafka
        self.client = client
        self.broker = broker
        self.store = store
        self.partitions = partitions
        self.topic = Topic(kafka.bootstrap, self.name, partitions)
        self.topics = [self.topic]
        self.produced: set[int] = set()
        self.replicas = 1
        self.consumed_topics = 1

    def create(
        self,
        *,
        replicas: int,
        rows_per_segment: int,
        pauseless: bool = False,
        further_topics: int = 0,
        own: Mapping[str, Any] | None = None,
        stream: Mapping[str, str] | None = None,
    ) -> None:
        """Create schema and table, and wait until all partitions consume.

        Args:
            replicas: Number of servers of each partition.
            rows_per_segment: Number of rows at which a segment is sealed.
            pauseless: Whether the next segment consumes while one is built.
            further_topics: Number of topics in addition to the first, each with as many partitions.
            own: Parts of the config for Pinot's own upsert or dedup.
            stream: Further settings of the stream.
        """
        schema = realtime_schema(self.name, {"source": "STRING"}, {"number": "LONG"})
        if own:
            # Each row has a different time.
            schema["primaryKeyColumns"] = ["ts"]
        self.client.schemas.create(Schema.from_json(schema))
        self.replicas = replicas
        self.consumed_topics += further_topics
        further = [self.new_topic(self.partitions).name for _ in range(further_topics)]
        config = self._config(
            replicas=replicas,
            rows_per_segment=rows_per_segment,
            pauseless=pauseless,
            further_topics=further,
            stream=stream,
        )
        if own:
            config |= {**own, "routing": {"instanceSelectorType": "strictReplicaGroup"}}
            config["tableIndexConfig"]["nullHandlingEnabled"] = True
        self.client.tables.create(TableConfig.from_json(config))
        self.wait_consuming()

    def _config(self, *, stream: Mapping[str, str] | None = None, **options: Any) -> dict[str, Any]:
        # A consumer starts a commit only between fetches, each of which waits up to 5 s for rows by default.
        own = {"stream.kafka.fetch.timeout.millis": "200", SECRET_KEY: secret_value("old-secret")}
        return realtime_table(self.name, self.kafka, stream={**own, **(stream or {})}, **options)

    def control(self, client: ControllerClient | None = None, **options: Any) -> TableControl:
        return TableControl(client or self.client, self.store, self.table, **options)

    def committed_rows(self) -> int:
        """Return the number of rows in segments, by their end offsets."""
        return sum(int(each.committed_offset or 0) for each in self.control().status().partitions)

    def shown_secrets(self) -> list[str]:
        """Return this project's records about the table that contain a secret of its stream config."""
        folder = f"/{self.store.cluster_name}/PROPERTYSTORE/PINOT_PLUGINS/consumption/{self.table}"
        connection = self.store.connection
        found = {name: connection.get(f"{folder}/{name}") for name in connection.children(folder) or ()}
        return [name for name, content in found.items() if content and b"-secret" in content[0]]

    def new_topic(self, partitions: int) -> Topic:
        """Create another topic, which is dropped after the test."""
        self.topics.append(Topic(self.kafka.bootstrap, f"{self.name}_{len(self.topics)}", partitions))
        return self.topics[-1]

    def produce(self, per_partition: int, *, topic: Topic | None = None) -> list[int]:
        """Write this number of new rows to each partition; return their numbers."""
        first = max(self.produced, default=-1) + 1
        target = topic or self.topic
        numbers = range(first, first + per_partition * self.partitions)
        target.produce(
            {
                partition: [
                    {"number": n, "source": target.name, "ts": _FIRST_TS + n}
                    for n in numbers[partition :: self.partitions]
                ]
                for partition in range(self.partitions)
            }
        )
        self.produced.update(numbers)
        return list(numbers)

    def counts(self) -> tuple[int, int, int]:
        """Query the number of rows, of distinct rows, and the sum of the rows' numbers."""
        sql = f"select count(*), distinctcount(number), sum(number) from {self.name}"
        rows = self.broker.query(sql, timeout_s=20).rows
        return tuple(int(value) for value in rows[0]) if rows else (0, 0, 0)  # type: ignore[return-value]

    def expected(self) -> tuple[int, int, int]:
        return len(self.produced), len(self.produced), sum(self.produced)

    def wait_rows(self) -> None:
        """Wait until queries see exactly the rows that were produced, each once, on every replica."""

        def seen() -> bool:
            try:
                return self.counts() == self.expected()
            except QueryError:
                return False

        what = f"{len(self.produced)} rows of {self.name}, each once"
        wait_for(seen, what, timeout_s=300, times=2 * self.replicas)

    def wait_read(self, offset: int) -> None:
        """Wait until each replica of each partition has read its stream up to an offset.

        A query reads one replica of a partition, maybe always the same one. If the others are behind it, a
        pause may commit fewer rows than queries have seen.
        """

        def read() -> bool:
            found = self.client.consumption.progress(self.table).values()
            offsets = [each.offset for replicas in found for each in replicas]
            return offsets == [str(offset)] * self.partitions * self.replicas

        wait_for(read, f"all replicas of {self.name} to be at {offset}", timeout_s=300)

    def wait_consuming(self) -> None:
        """Wait until each partition has a consuming segment that a server has loaded."""

        def ready() -> bool:
            consuming = read_ideal_state(self.store, self.table).consuming
            view = self.client.tables.external_view(self.table)
            loaded = [name for name in consuming if "CONSUMING" in view.get(name, {}).values()]
            return len(loaded) == self.partitions * self.consumed_topics

        wait_for(ready, f"all partitions of {self.name} to consume", timeout_s=300)

    def settled(self) -> TableStatus:
        """Return the table's status once all partitions consume and none commits, as after its last rows."""

        def status() -> TableStatus | None:
            present = self.control().status()
            return present if present.state is TableState.CONSUMING else None

        settled = wait_for(status, f"all partitions of {self.name} to consume at once", timeout_s=300)
        assert settled is not None
        return settled

    def drop(self) -> None:
        """Drop table, schema and topics."""
        drop(self.client, self.name)
        while self.topics:
            self.topics.pop().delete()
