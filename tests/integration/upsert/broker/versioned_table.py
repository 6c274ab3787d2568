"""An upsert table whose messages already contain the versions (`$validFrom` and so on)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer

from controller_client.broker.client import BrokerClient
from controller_client.errors import QueryError
from controller_client.helix import live_session
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.columns import NIL, OFFSET, VALID_FROM, VALID_UNTIL
from controller_client.upsert.creating import UpsertTable, create_upsert_table
from controller_client.upsert.record import PartitionProgress, ServerRecord, write_server
from controller_client.upsert.update_message import VersionEnd, encode_end
from tests.integration.upsert.realtime_table import Clients, RealtimeTable
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.wait import wait_for

FIRST_TS = 1_700_000_000_000


class VersionedTable(RealtimeTable):
    """A table with the key ``k`` and the columns ``v`` and ``ts``, on a topic with several partitions.

    Args:
        clients: The clients.
        partitions: The number of partitions.
    """

    def __init__(self, clients: Clients, partitions: int) -> None:
        super().__init__(clients, "versioned", partitions)
        self.partitions = partitions
        self.updates = Topic(self.kafka.bootstrap, self.updates_topic, partitions)
        self.produced = 0

    def schema(self) -> dict[str, Any]:
        return realtime_schema(self.name, {"k": "STRING"}, {"v": "INT"})

    def config(self) -> dict[str, Any]:
        return realtime_table(
            self.name,
            self.kafka,
            keeps_all=True,
            stream={"stream.kafka.fetch.timeout.millis": "200"},
        )

    def planned(self) -> UpsertTable:
        return planned_upsert(self.schema(), self.config(), ["k"])

    def create(self) -> None:
        """Register it as an upsert table."""
        create_upsert_table(self.client, self.planned())

    def produce(self, rows: Mapping[int, Iterable[tuple[str, int, int, int]]]) -> None:
        """Write rows (key, value, version from, version until) by partition."""
        written: dict[int, list[dict[str, object]]] = {}
        for partition, values in rows.items():
            for key, value, begin, end in values:
                row = {"k": key, "v": value, "ts": FIRST_TS + self.produced, OFFSET: self.produced}
                written.setdefault(partition, []).append({**row, VALID_FROM: begin, VALID_UNTIL: end})
                self.produced += 1
        self.topic.produce(written)

    def wait_rows(self, broker: BrokerClient | None = None) -> None:
        """Wait until a broker, by default the stock one, sees all rows of all versions."""
        asked = broker or self.broker

        def seen() -> bool:
            try:
                found = asked.query(f"select count(*) from {self.name}", options={"skipUpsert": True})
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
                self.full_name,
                ServerRecord(
                    instance, session, mark, FIRST_TS + max(mark, NIL), progress, created=self.created()
                ),
            )

    def created(self) -> int:
        """The incarnation of the table, as servers report it."""
        created = self.store.creation_order(table_config_path(self.full_name))
        assert created is not None
        return created

    def end(self, version: int, at_ms: int, upto: int = 0) -> None:
        """Write a version's end at an offset to the updates topic, instead of the key coordinator."""
        message = encode_end(VersionEnd(version, 0, upto, at_ms))
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "acks": "all"})
        for partition in range(self.partitions):
            producer.produce(self.updates.name, message, partition=partition)
        assert not producer.flush(60)
