"""An upsert table on the two servers hosted in Python, and what its queries see."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress

import requests
from confluent_kafka import Message, Producer

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import SegmentName, TableName
from controller_client.errors import QueryError
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.models import TableConfig
from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.version_option import VERSIONS, option_text
from controller_client.upsert.visibility import visible_at
from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.model_coordinator import ModelCoordinator
from tests.support.cluster import PinotCluster
from tests.support.deleting import delete_realtime
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic, read_committed
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import TRANSACTIONAL, planned_upsert, realtime_schema, realtime_table
from tests.support.wait import wait_for

TIMEOUT_S = 120.0


class UpsertTable:
    """A table with the columns ``key``, ``part``, ``value`` and ``ts``; each row has a unique value.

    Args:
        pinot: The cluster.
        kafka: Its Kafka.
        client: Client of the controller.
        store: The cluster's property store.
        broker: Client of the broker.
        partitions: The number of partitions of the input topic.
        rows_per_segment: The number of rows at which a segment is sealed.
        replicas: The number of replicas.
        pauseless: Whether the next segment consumes while one is built (Pinot 1.4 and later).
    """

    def __init__(
        self,
        pinot: PinotCluster,
        kafka: Kafka,
        client: ControllerClient,
        store: PropertyStore,
        broker: BrokerClient,
        *,
        partitions: int = 2,
        rows_per_segment: int = 100_000,
        replicas: int = 2,
        pauseless: bool = False,
    ) -> None:
        self.name = f"upsert_{uuid.uuid4().hex[:8]}"
        self.full_name = TableName(f"{self.name}_REALTIME")
        self.pinot, self.client, self.store, self.broker = pinot, client, store, broker
        self.topic = Topic(kafka.bootstrap, self.name, partitions)
        self.updates = Topic(kafka.bootstrap, f"{self.full_name}.updates", partitions)
        self.model = ModelCoordinator(kafka.bootstrap, self.name, self.updates.name, partitions)
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", "linger.ms": 5})
        self._bootstrap = kafka.bootstrap
        self._values = 0
        self._ts = 1_700_000_000_000
        config = realtime_table(
            self.name,
            kafka,
            rows_per_segment=rows_per_segment,
            replicas=replicas,
            tenant=HOSTED_TENANT,
            peers=replicas > 1,
            keeps_all=True,
            pauseless=pauseless,
            stream=TRANSACTIONAL,
        )
        schema = realtime_schema(self.name, {"key": "STRING", "part": "INT"}, {"value": "LONG"})
        create_upsert_table(client, planned_upsert(schema, config, ["key"]))

    def produce(self, partition: int, keys: Sequence[str], *, ts_step: int = 1) -> None:
        """Write a row for each of these keys; a negative step makes rows older than the previous ones."""
        for key in keys:
            self._ts += ts_step
            self._values += 1
            row = {"key": key, "part": partition, "value": self._values, "ts": self._ts}
            self.produce_raw(partition, json.dumps(row).encode(), flush=False)
        self._producer.flush(TIMEOUT_S)

    def produce_raw(
        self, partition: int, value: bytes | None, *, key: str | None = None, flush: bool = True
    ) -> None:
        """Write one message."""
        self._producer.produce(self.name, value, key=key, partition=partition)
        self._producer.poll(0)
        if flush:
            self._producer.flush(TIMEOUT_S)

    def produce_transaction(self, partition: int, keys: Sequence[str], *, commit: bool) -> None:
        """Write rows in a separate transaction; its marker takes an offset."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        for key in keys:
            self._ts += 1
            self._values += 1
            row = {"key": key, "part": partition, "value": self._values, "ts": self._ts}
            producer.produce(self.name, json.dumps(row).encode(), partition=partition)
        producer.flush(TIMEOUT_S)
        if commit:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)

    def readable(self, partition: int) -> list[int]:
        """Offsets of the rows among the committed messages of the input topic, as Kafka returns them.

        The marker of a transaction may follow messages that were produced later.
        """
        found: list[int] = []

        def take(message: Message) -> None:
            with suppress(ValueError):
                json.loads(message.value() or b"")
                found.append(message.offset() or 0)

        read_committed(self._bootstrap, self.name, partition, take)
        return found

    def mark(self) -> int:
        """The table's low-water mark, as brokers read it."""
        return read_mark(self.store, self.full_name).version

    def rows(self, *conditions: str, **options: str | bool) -> list[tuple[int, int]]:
        """Partitions and offsets of the rows that match the conditions, sorted."""
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        sql = f'SELECT part, "$kafkaOffset" FROM {self.name} {where} LIMIT 1000000'
        answer = self.broker.query(sql, options=options)
        return sorted((int(partition), int(offset)) for partition, offset in answer.rows)

    def all_rows(self, *conditions: str) -> list[tuple[int, int]]:
        """As :meth:`rows`, for all versions."""
        return self.rows(*conditions, skipUpsert=True)

    def visible(self, version: int, *conditions: str) -> list[tuple[int, int]]:
        """As :meth:`rows`, as seen at a version: through a stock broker, as our client queries it."""
        if read_mark(self.store, self.full_name).cut_by_option:
            return self.rows(*conditions, **{VERSIONS: option_text({self.full_name: version}, "")})
        return self.rows(*conditions, visible_at(version))

    def wait_mark(self, version: int) -> None:
        """Wait until the table has reached this mark."""
        wait_for(lambda: self.mark() >= version, f"version {version} of {self.name}", TIMEOUT_S)

    def wait_checked(self, version: int) -> None:
        """Wait until the mark is at least this version, and queries see what the model expects."""
        self.wait_mark(version)
        wait_for(self._matches, f"the rows of {self.name} at version {version}", TIMEOUT_S)

    def check(self, version: int) -> None:
        """As :meth:`wait_checked`, but at once, and often enough for brokers to query each replica."""
        self.wait_mark(version)
        for _ in range(6):
            assert self._matches()

    def _matches(self) -> bool:
        mark = self.mark()
        try:
            return self.visible(mark) == sorted(self.model.visible[mark])
        except QueryError:
            return False  # a broker that still queries a stopped server

    def segments(self) -> Mapping[str, Mapping[str, str]]:
        """Segments of the ideal state, with their states by server."""
        return read_ideal_state(self.store, self.full_name).segments

    def sealed(self) -> list[SegmentName]:
        """The sealed segments."""
        return sorted(
            segment
            for name, states in self.segments().items()
            if "CONSUMING" not in states.values() and (segment := SegmentName.parse(name))
        )

    def wait_sealed(self, count: int) -> None:
        """Wait until this number of segments is sealed, and all are served according to the ideal state."""
        wait_for(lambda: len(self.sealed()) >= count, f"{count} sealed segments of {self.name}", TIMEOUT_S)
        self.wait_served()

    def wait_served(self) -> None:
        """Wait until the servers have all segments in the states of the ideal state."""
        tables = self.client.tables
        wait_for(
            lambda: tables.external_view(self.full_name) == tables.ideal_state(self.full_name),
            f"{self.name} to be served",
            TIMEOUT_S,
        )

    def rebalance(self, replicas: int) -> None:
        """Change the number of replicas."""
        config = self.client.tables.get(self.full_name).to_json()
        config["segmentsConfig"].update(
            replication=str(replicas), replicasPerPartition=str(replicas), peerSegmentDownloadScheme="http"
        )
        self.client.tables.update(TableConfig.from_json(config))
        self.ask_controller(
            "POST", f"tables/{self.name}/rebalance", type="REALTIME", includeConsuming="true", downtime="true"
        )

    def ask_controller(self, method: str, path: str, **parameters: str) -> None:
        """Make a controller call for which the client has no method."""
        url = f"{self.pinot.controller_url}/{path}"
        requests.request(method, url, params=parameters, timeout=300).raise_for_status()

    def delete(self) -> None:
        """Delete table and topics; nothing can be produced after that."""
        # Otherwise their threads continue, and log errors when Kafka stops.
        self.__dict__.pop("_producer", None)
        self.model.close()
        delete_realtime(self.client, self.full_name)
        self.topic.delete()
        self.updates.delete()
