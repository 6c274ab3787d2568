"""An upsert table whose messages already contain the versions (`$validFrom` and so on)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import QueryError
from controller_client.helix import live_session
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.columns import NIL, OFFSET, VALID_FROM, VALID_UNTIL
from controller_client.upsert.creating import UpsertTable, create_upsert_table
from controller_client.upsert.record import PartitionProgress, ServerRecord, write_server
from controller_client.upsert.update_message import VersionEnd, encode_end
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster
from tests.support.deleting import delete_realtime
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.wait import wait_for

FIRST_TS = 1_700_000_000_000


class VersionedTable:
    """A table with the key ``k`` and the columns ``v`` and ``ts``, on a topic with several partitions.

    Attributes:
        name: Raw name.
        table: Name with type.
        topic: Its input topic.
    """

    def __init__(self, pinot: PinotCluster, kafka: Kafka, store: PropertyStore, partitions: int) -> None:
        self.name = f"u_{uuid.uuid4().hex[:12]}"
        self.table = TableName(f"{self.name}_REALTIME")
        self.pinot = pinot
        self.kafka = kafka
        self.store = store
        self.partitions = partitions
        self.topic = Topic(kafka.bootstrap, self.name, partitions)
        self.updates = Topic(kafka.bootstrap, f"{self.table}.updates", partitions)
        self.produced = 0

    def schema(self) -> dict[str, Any]:
        return realtime_schema(self.name, {"k": "STRING"}, {"v": "INT"})

    def config(self, *, rows_per_segment: int = 100_000, replicas: int = 1) -> dict[str, Any]:
        return realtime_table(
            self.name,
            self.kafka,
            rows_per_segment=rows_per_segment,
            replicas=replicas,
            keeps_all=True,
            stream={"stream.kafka.fetch.timeout.millis": "200"},
        )

    def planned(self, **options: Any) -> UpsertTable:
        return planned_upsert(self.schema(), self.config(**options), ["k"])

    def create(self, client: ControllerClient, **options: Any) -> None:
        create_upsert_table(client, self.planned(**options))

    def produce(self, rows: Mapping[int, Iterable[tuple[str, int, int, int]]]) -> None:
        """Write rows (key, value, version from, version until) by partition."""
        written: dict[int, list[dict[str, object]]] = {}
        for partition, values in rows.items():
            for key, value, begin, end in values:
                row = {"k": key, "v": value, "ts": FIRST_TS + self.produced, OFFSET: self.produced}
                written.setdefault(partition, []).append({**row, VALID_FROM: begin, VALID_UNTIL: end})
                self.produced += 1
        self.topic.produce(written)

    def wait_rows(self, broker: BrokerClient) -> None:
        """Wait until a broker sees all rows of all versions."""

        def seen() -> bool:
            try:
                found = broker.query(f"select count(*) from {self.name}", options={"skipUpsert": True})
            except QueryError:
                return False
            return bool(found.rows) and found.scalar() == self.produced

        wait_for(seen, f"{self.produced} rows of {self.name}", timeout_s=300)

    def tell(self, marks: Mapping[str, int], **segments: str) -> None:
        """Report marks for servers, in their current sessions, instead of their hooks."""
        for instance, mark in marks.items():
            session = live_session(self.store, instance)
            assert session
            progress = {
                number: PartitionProgress(name, 0, mark) for number, name in enumerate(segments.values())
            }
            write_server(
                self.store,
                self.table,
                ServerRecord(
                    *(instance, session, mark, FIRST_TS + max(mark, NIL), progress), created=self.created()
                ),
            )

    def created(self) -> int:
        """The incarnation of the table, as servers report it."""
        created = self.store.creation_order(table_config_path(self.table))
        assert created is not None
        return created

    def end(self, version: int, at_ms: int, upto: int = 0) -> None:
        """Write a version's end at an offset to the updates topic, instead of the key coordinator."""
        message = encode_end(VersionEnd(version, 0, upto, at_ms))
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "acks": "all"})
        for partition in range(self.partitions):
            producer.produce(self.updates.name, message, partition=partition)
        assert not producer.flush(60)

    def drop(self, client: ControllerClient) -> None:
        delete_realtime(client, self.table)
        if self.name in client.schemas.list():
            client.schemas.delete(self.name)
        self.topic.delete()
        self.updates.delete()
