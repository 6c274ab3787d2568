"""An upsert table with everything that it needs: hosted servers, key coordinator, feed and reader."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import requests

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.record import LOCK
from controller_client.zookeeper import PropertyStore, TableLock
from tests.integration.upsert.oracle.feed import Feed
from tests.integration.upsert.oracle.history import Ends, Input, read_ends
from tests.integration.upsert.oracle.keys import KEY
from tests.integration.upsert.oracle.model import Met, Model, Total
from tests.integration.upsert.oracle.reader import Answer, Reader
from tests.support.cluster import PinotCluster
from tests.support.coordinator import start_coordinator
from tests.support.deleting import delete_realtime
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import TRANSACTIONAL, planned_upsert, realtime_schema, realtime_table
from tests.support.spark import LOCAL_SPARK
from tests.support.wait import add_describer, remove_describer, wait_for

PARTITIONS = 4
_TIMEOUT_S = 900.0


class Place:
    """One table, created and dropped by a test.

    Args:
        pinot: The cluster, with running hosted servers.
        kafka: Its Kafka.
        client: Client of the controller.
        store: The property store.
        folder: For the coordinator's checkpoint and log.
        rows_per_segment: The number of rows at which a segment is sealed.
        engine: The engine of its coordinator.
        seed: Seed of the records.
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
        seed: int,
    ) -> None:
        self.name = f"oracle_{uuid.uuid4().hex[:8]}"
        self.full_name = TableName(f"{self.name}_REALTIME")
        self.pinot, self.kafka, self.client, self.store, self.folder = pinot, kafka, client, store, folder
        self._topic = Topic(kafka.bootstrap, self.name, PARTITIONS)
        self.updates = Topic(kafka.bootstrap, f"{self.full_name}.updates", PARTITIONS)
        self.input = Input(kafka.bootstrap, self.name, PARTITIONS)
        self._newest = Model(self.input)
        self.feed = Feed(kafka.bootstrap, self.name, PARTITIONS, seed)
        self.reader = Reader(pinot, f"select count(*), sum(value), sum(account) from {self.name}")
        self.engine, self.seed = engine, seed
        self._coordinators: list[subprocess.Popen[bytes]] = []
        self._rows_per_segment = rows_per_segment
        self.create(list(KEY))
        add_describer(self._describe)

    def create(self, key: Sequence[str]) -> None:
        """Create the table, or create it again after it was deleted."""
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
        schema = realtime_schema(self.name, KEY, {"value": "LONG"})
        create_upsert_table(self.client, planned_upsert(schema, config, key))

    def start_coordinator(self) -> None:
        """Start the coordinator, or restart it with its checkpoint."""
        spark = self.engine == "spark"
        self._start(*(["--buckets=4"] if spark else []), spark=LOCAL_SPARK if spark else None)

    def start_standby(self, name: str) -> None:
        """Start a standby and wait until it has its own state; the coordinator will be killed."""
        self._start("--standby", checkpoint=name)
        state = f"the state of {name}"
        wait_for(lambda: any((self.folder / name).glob("*/*/manifest.json")), state, _TIMEOUT_S)

    def kill_coordinator(self) -> None:
        """Kill the running coordinator that was started first, with SIGKILL."""
        if self._coordinators:
            killed = self._coordinators.pop(0)
            killed.kill()
            killed.wait()

    def wait_lock(self) -> None:
        """Wait until the only running coordinator leads the table."""
        (process,) = self._coordinators
        lock = TableLock(self.store, self.full_name, LOCK, owner="looks")

        def held() -> bool:
            holder = lock.holder()
            return holder is not None and holder.pid == process.pid

        wait_for(held, f"the lock of {self.name}", _TIMEOUT_S)

    def validate(self) -> None:
        """Have Pinot create missing consuming segments, as it does on its own every few minutes.

        If Kafka is unavailable while a segment is committed, the controller cannot create the next one.
        """
        task = {"taskname": "RealtimeSegmentValidationManager", "tableName": self.name, "type": "REALTIME"}
        requests.get(
            f"{self.pinot.controller_url}/periodictask/run", params=task, timeout=60
        ).raise_for_status()

    def check_running(self) -> None:
        """Fail if no coordinator is running, and show its log."""
        running = self._coordinators and self._coordinators[0].poll() is None
        assert running, (self.folder / "coordinator.log").read_text()[-3000:]

    def wait_answered(self, *, validating: bool = False) -> None:
        """Wait until an answer includes everything that was written."""
        self._newest.advance(self.input.read_on())
        expected = self._newest.total()

        def seen() -> bool:
            self.check_running()
            if validating:
                self.validate()
            newest = self.reader.newest()
            return newest is not None and _total(newest) == expected

        what = f"{expected} of {self.name}, seed {self.seed}"
        wait_for(seen, what, _TIMEOUT_S, interval_s=5.0 if validating else 0.1)

    def versions(self) -> Mapping[int, Ends]:
        """The offsets that each version includes."""
        return read_ends(self.kafka.bootstrap, self.updates.name, PARTITIONS)

    def check(self) -> tuple[int, Met]:
        """Compare all answers with the model; return the number of versions answered, and the cases met."""
        model, totals = Model(self.input), dict[int, Total]()
        self.input.read_on()
        for version, ends in self.versions().items():
            model.advance(ends)
            totals[version] = model.total()
        answers = [(answer.versions[self.full_name], _total(answer)) for answer in self.reader.answers]
        wrong = [(*answer, totals.get(answer[0])) for answer in answers if totals.get(answer[0]) != answer[1]]
        assert not wrong, (
            f"{len(wrong)} of {len(answers)} answers are wrong, seed {self.seed}; the first, each with its"
            f" version and what it was to be: {wrong[:5]}"
        )
        return len({version for version, _ in answers}), model.met

    def close(self) -> None:
        """Stop all processes and drop the table and its topics."""
        remove_describer(self._describe)
        self.reader.stop()
        while self._coordinators:
            self.kill_coordinator()
        delete_realtime(self.client, self.full_name)
        self._topic.delete()
        self.updates.delete()

    def _describe(self) -> str:
        """The last answers and the coordinator's last state, for a wait that fails."""
        log = self.folder / "coordinator.log"
        return "\n".join(
            [
                f"--- {self.name}: {read_mark(self.store, self.full_name)}",
                f"--- last answer: {self.reader.newest()}; last refusal: {self.reader.refused[-1:]}",
                f"--- its coordinator: {log.read_text()[-2000:] if log.exists() else ''}",
            ]
        )

    def _start(
        self, *options: str, spark: Mapping[str, str] | None = None, checkpoint: str = "checkpoint"
    ) -> None:
        url = self.pinot.controller_url
        self._coordinators.append(
            start_coordinator(self.name, self.folder, url, *options, spark=spark, checkpoint=checkpoint)
        )


def _total(answer: Answer) -> Total:
    return Total(*(answer.numbers or (0, 0, 0)))
