"""Upsert tables whose key coordinator runs as a separate process, ``pinotctl upsert coordinate``."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # public by its docs

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.record import LOCK, CoordinatorRecord, read_coordinator
from controller_client.zookeeper import PropertyStore, TableLock
from tests.integration.spark_connectors.conftest import spark
from tests.integration.upsert.coordinator.topics import Message, Replay, read_topic
from tests.support.cluster import PinotCluster
from tests.support.coordinator import start_coordinator
from tests.support.deleting import delete_realtime
from tests.support.kafka import Kafka
from tests.support.pinotctl import pinotctl
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.spark import LOCAL_SPARK
from tests.support.wait import wait_for

_END_TIMEOUT_S = 300.0
_REPOSITORY = Path(__file__).parents[4]

__all__ = ["CoordinatedTable", "MakeTable", "make_table", "spark"]

MakeTable = Callable[..., "CoordinatedTable"]


@dataclass
class CoordinatedTable:
    """A table, its topics and the processes of its coordinators."""

    name: str
    pinot: PinotCluster
    kafka: Kafka
    client: ControllerClient
    store: PropertyStore
    folder: Path
    engine: str = "local"
    _runs: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def full_name(self) -> TableName:
        """With type."""
        return TableName(f"{self.name}_REALTIME")

    def command(self, *arguments: str) -> list[str]:
        """The command ``pinotctl`` of this checkout, for this cluster."""
        return pinotctl(*arguments, controller=self.pinot.controller_url)

    def start(self, *options: str, folder: str = "") -> subprocess.Popen[bytes]:
        """Start a coordinator with its own folder below the table's; all coordinators write to one log."""
        spark = LOCAL_SPARK if self.engine == "spark" else None
        process = start_coordinator(
            self.name,
            self.folder,
            self.pinot.controller_url,
            *("--buckets=3", *options),
            spark=spark,
            checkpoint=folder or "checkpoint",
        )
        self._runs.append(process)
        return process

    def has_state(self, folder: str) -> bool:
        """Whether the folder contains the state of a coordinator with the engine local."""
        return any((self.folder / folder).glob("*/*/manifest.json"))

    def end(self, process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; return the exit code of the process."""
        process.send_signal(number)
        return process.wait(_END_TIMEOUT_S)

    def once(self, *options: str) -> None:
        """Run a coordinator until it has processed everything."""
        process = self.start("--once", *options)
        assert process.wait(_END_TIMEOUT_S * 2) == 0, self.log()

    def record(self) -> CoordinatorRecord:
        """The coordinator's own record."""
        return read_coordinator(self.store, self.full_name) or CoordinatorRecord(0, 0)

    def wait_lock(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a process has become the table's coordinator."""
        lock = TableLock(self.store, self.full_name, LOCK, owner="looks")

        def held() -> bool:
            assert process.poll() is None, self.log()
            holder = lock.holder()
            return holder is not None and holder.pid == process.pid

        wait_for(held, f"the lock of {self.name}", _END_TIMEOUT_S)

    def wait_version(self, version: int, process: subprocess.Popen[bytes]) -> None:
        """Wait until the end of a version has been sent."""

        def there() -> bool:
            assert process.poll() is None, self.log()
            return self.record().version >= version

        wait_for(there, f"version {version} of {self.name}\n{self.log()}", _END_TIMEOUT_S)

    def wait_passed(self, offsets: Mapping[int, int], process: subprocess.Popen[bytes]) -> None:
        """Wait until a complete version has passed these offsets of the input."""

        def passed() -> bool:
            assert process.poll() is None, self.log()
            replay = self.replay()
            whole = replay.whole_versions()
            ends = replay.offsets(whole[-1]) if whole else {}
            return all(ends.get(partition, 0) >= offset for partition, offset in offsets.items())

        wait_for(passed, f"{offsets} of {self.name} to be passed", _END_TIMEOUT_S, interval_s=1.0)

    def ends_of_input(self) -> dict[int, int]:
        """The offset after the last message, by partition."""
        from controller_client.stream.config import StreamConfig
        from controller_client.stream.offsets import open_offsets

        stream = StreamConfig.of(self.client.tables.get(self.full_name))
        return {partition: found.latest for partition, found in open_offsets(stream).read().items()}

    def input(self) -> list[Message]:
        """The content of the input topic."""
        return read_topic(self.kafka.bootstrap, self.name)

    def replay(self) -> Replay:
        """The content of the updates topic."""
        return Replay.of(read_topic(self.kafka.bootstrap, f"{self.full_name}.updates"))

    def log(self) -> str:
        """The end of the coordinators' log."""
        return (self.folder / "coordinator.log").read_text(errors="replace")[-12000:] if self._runs else ""

    def close(self) -> None:
        """Stop all coordinators, and delete the table and its topics."""
        for process in self._runs:
            if process.poll() is None:
                process.kill()
                process.wait(_END_TIMEOUT_S)
        with contextlib.suppress(Exception):
            delete_realtime(self.client, self.full_name)
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap})
        for future in admin.delete_topics([self.name, f"{self.full_name}.updates"]).values():
            with contextlib.suppress(Exception):
                future.result(_END_TIMEOUT_S)


@pytest.fixture
def make_table(pinot: PinotCluster, kafka: Kafka, tmp_path: Path) -> Iterator[MakeTable]:
    """Create a table: ``make_table(columns, key, partitions, stream settings..., order=...)``."""
    made: list[CoordinatedTable] = []
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    with (
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):

        def make(
            columns: Mapping[str, str],
            key: Sequence[str],
            partitions: int,
            stream: Mapping[str, str] | None = None,
            order: str | None = None,
        ) -> CoordinatedTable:
            name = f"coordinated_{uuid.uuid4().hex[:8]}"
            admin.create_topics([NewTopic(name, partitions, 1)])[name].result(_END_TIMEOUT_S)
            config = realtime_table(
                name,
                kafka,
                keeps_all=True,
                stream={"stream.kafka.isolation.level": "read_committed", **(stream or {})},
            )
            planned = planned_upsert(realtime_schema(name, columns), config, key, order)
            create_upsert_table(client, planned)
            made.append(CoordinatedTable(name, pinot, kafka, client, store, tmp_path))
            return made[-1]

        try:
            yield make
        finally:
            for table in made:
                table.close()
