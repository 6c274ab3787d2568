"""An upsert table with everything that it takes: hosted servers, key coordinator, feed and reader."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

import requests

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.upsert.creating import create_upsert_table
from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.oracle.feed import Feed
from tests.integration.upsert.oracle.history import Model, Total, read_ends, read_records
from tests.integration.upsert.oracle.reader import Answer, Reader
from tests.support.cluster import PinotCluster
from tests.support.coordinator import start_coordinator
from tests.support.deleting import delete_realtime
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import TRANSACTIONAL, planned_upsert, realtime_schema, realtime_table
from tests.support.spark import LOCAL_SPARK
from tests.support.wait import wait_for

PARTITIONS = 4
_TIMEOUT_S = 900.0


class Place:
    """One table, made and dropped by a test.

    Args:
        pinot: The cluster; its hosted servers run.
        kafka: Its Kafka.
        client: Client of the controller.
        store: The property store.
        folder: For the coordinator's checkpoint and log.
        rows_per_segment: A segment is sealed when it has so many.
        engine: Of its coordinator.
    """

    def __init__(
        self,
        pinot: PinotCluster,
        kafka: Kafka,
        client: ControllerClient,
        store: PropertyStore,
        folder: Path,
        rows_per_segment: int,
        engine: str,
    ) -> None:
        self.name = f"oracle_{uuid.uuid4().hex[:8]}"
        self.full_name = TableName(f"{self.name}_REALTIME")
        self.pinot, self.kafka, self.client, self.store, self.folder = pinot, kafka, client, store, folder
        self._topic = Topic(kafka.bootstrap, self.name, PARTITIONS)
        self.updates = Topic(kafka.bootstrap, f"{self.full_name}.updates", PARTITIONS)
        self.feed = Feed(kafka.bootstrap, self.name, PARTITIONS, seed=rows_per_segment + 29)
        self.reader = Reader(pinot, f"select count(*), sum(value) from {self.name}")
        self._engine = engine
        self._coordinator: subprocess.Popen[bytes] | None = None
        self._rows_per_segment = rows_per_segment
        self.create(["id"])

    def create(self, key: Sequence[str]) -> None:
        """Make the table, or make it again after it was deleted."""
        config = realtime_table(
            self.name,
            self.kafka,
            rows_per_segment=self._rows_per_segment,
            replicas=2,
            tenant=HOSTED_TENANT,
            peers=True,
            keeps_all=True,
            stream=TRANSACTIONAL,
        )
        schema = realtime_schema(self.name, {"id": "LONG"}, {"value": "LONG"})
        create_upsert_table(self.client, planned_upsert(schema, config, key))

    def start_coordinator(self) -> None:
        """Start it, or start it again where its checkpoint is."""
        self._coordinator = start_coordinator(
            self.name,
            self.folder,
            self.pinot.controller_url,
            *(["--buckets=4"] if self._engine == "spark" else []),
            spark=LOCAL_SPARK if self._engine == "spark" else None,
        )

    def kill_coordinator(self) -> None:
        """End it with SIGKILL."""
        if self._coordinator is not None:
            self._coordinator.kill()
            self._coordinator.wait()

    def validate(self) -> None:
        """Have Pinot make the consuming segments that are missing, as it does by itself every few minutes.

        When Kafka is away while a segment is committed, the controller cannot make the next one.
        """
        task = {"taskname": "RealtimeSegmentValidationManager", "tableName": self.name, "type": "REALTIME"}
        requests.get(
            f"{self.pinot.controller_url}/periodictask/run", params=task, timeout=60
        ).raise_for_status()

    def wait_answered(self, keys: int, *, validating: bool = False) -> None:
        """Wait until an answer is of all that was written, with so many keys."""
        records = read_records(self.kafka.bootstrap, self.name, PARTITIONS)
        ends = [each.end for each in records]
        expected = Model(records, keys).totals({0: ends})[0]
        assert expected.count == keys

        def seen() -> bool:
            running = self._coordinator is not None and self._coordinator.poll() is None
            assert running, (self.folder / "coordinator.log").read_text()[-3000:]
            if validating:
                self.validate()
            newest = self.reader.newest()
            return newest is not None and _total(newest) == expected

        what = f"{expected} of {self.name}"
        wait_for(seen, what, _TIMEOUT_S, interval_s=5.0 if validating else 0.1)

    def totals(self, keys: int) -> dict[int, Total]:
        """What the model says of all versions."""
        records = read_records(self.kafka.bootstrap, self.name, PARTITIONS)
        ends = read_ends(self.kafka.bootstrap, self.updates.name, PARTITIONS)
        return Model(records, keys).totals(ends)

    def check(self, keys: int) -> int:
        """Compare all answers with the model; returns how many versions were answered."""
        totals = self.totals(keys)
        answers = [(answer.versions[self.full_name], _total(answer)) for answer in self.reader.answers]
        wrong = [(*answer, totals.get(answer[0])) for answer in answers if totals.get(answer[0]) != answer[1]]
        assert not wrong, f"{len(wrong)} of {len(answers)} answers are wrong, first: {wrong[:5]}"
        return len({version for version, _ in answers})

    def close(self) -> None:
        """End what runs and drop what was made."""
        self.reader.stop()
        self.kill_coordinator()
        delete_realtime(self.client, self.full_name)
        self._topic.delete()
        self.updates.delete()


def _total(answer: Answer) -> Total:
    count, total = answer.numbers or (0, 0)
    return Total(count, total)
