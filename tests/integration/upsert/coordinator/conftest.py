"""Upsert tables whose key coordinator runs as a separate process, ``pinotctl upsert coordinate``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import open_offsets
from controller_client.upsert.creating import create_upsert_table
from tests.integration.spark_connectors.conftest import spark
from tests.integration.upsert.coordinated_table import CoordinatedTable
from tests.integration.upsert.coordinator.topics import Message, Replay, read_topic
from tests.integration.upsert.realtime_table import Clients, making
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.wait import wait_for

_END_TIMEOUT_S = 300.0

__all__ = ["CheckedTable", "MakeTable", "make_table", "spark"]

MakeTable = Callable[..., "CheckedTable"]


class CheckedTable(CoordinatedTable):
    """A table whose updates topic is compared with a model of its input topic.

    Args:
        clients: The clients.
        folder: The table's folder.
        columns: Types of the columns but the time, by name.
        key: The columns of its key.
        partitions: The number of partitions of its topic.
        stream: Further settings of the stream.
        order: Name of the function that ranks records.
        rows_per_segment: The number of rows at which a segment is sealed.
    """

    def __init__(
        self,
        clients: Clients,
        folder: Path,
        columns: Mapping[str, str],
        key: Sequence[str],
        partitions: int,
        stream: Mapping[str, str] | None = None,
        order: str | None = None,
        rows_per_segment: int = 100_000,
    ) -> None:
        super().__init__(clients, "coordinated", partitions, folder)
        config = realtime_table(
            self.name,
            self.kafka,
            rows_per_segment=rows_per_segment,
            keeps_all=True,
            stream={"stream.kafka.isolation.level": "read_committed", **(stream or {})},
        )
        planned = planned_upsert(realtime_schema(self.name, columns), config, key, order)
        create_upsert_table(self.client, planned)

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
        stream = StreamConfig.of(self.client.tables.get(self.full_name))
        return {partition: found.latest for partition, found in open_offsets(stream).read().items()}

    def input(self) -> list[Message]:
        """The content of the input topic."""
        return read_topic(self.kafka.bootstrap, self.name)

    def replay(self) -> Replay:
        """The content of the updates topic."""
        return Replay.of(read_topic(self.kafka.bootstrap, self.updates_topic))


@pytest.fixture
def make_table(pinot: PinotCluster, kafka: Kafka, tmp_path: Path) -> Iterator[MakeTable]:
    """Create a table; arguments as for :class:`CheckedTable`, but for the first two."""
    with making(pinot, kafka, CheckedTable) as make:
        yield partial(make, tmp_path)
