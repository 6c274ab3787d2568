"""The tables of the day and their data: files that are ingested by schedule, and rows of streams."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.faults.day.roles import MINION_TAG
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.integration.server_hooks.conftest import TopicTable
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.wait import wait_for

__all__ = ["FILE_TABLES", "STREAM_TABLES", "FileTable", "Tables"]

FILE_TABLES = 46
STREAM_TABLES = 4

_PARTITIONS = 2
_FILE_ROWS = 20
_SEGMENT_ROWS = 50
_HOURS_BETWEEN_FILES = 12
# The next trigger resumes a failed session, with its staged segments.
_RETRIES = "5"


@dataclass
class FileTable:
    """A table with FileIngestionTask and a schedule.

    Attributes:
        table: The table.
        folder: Its source.
        whole: The answers that a query may return, one for each number of files, starting with none.
    """

    table: IngestionTable
    folder: Path
    whole: list[tuple[Any, ...]] = field(default_factory=lambda: [()])

    @property
    def rows(self) -> int:
        """The number of rows in all its files."""
        return (len(self.whole) - 1) * _FILE_ROWS

    def put_file(self) -> None:
        """Add a file to the source."""
        first, rows = self.rows, self.rows + _FILE_ROWS
        # Recorded before queries can see it.
        self.whole.append((rows, float(sum(range(rows)))))
        write_numbers(self.folder, f"{first:06}.csv", first, _FILE_ROWS)

    def has_all(self) -> bool:
        """Whether queries see each row exactly once."""
        sql = f"select count(*), sum(id), distinctcount(id) from {self.table.name}"
        found = [tuple(row) for row in self.table.broker.query(sql).rows]
        return found == [(*self.whole[-1], self.rows)]


class Tables:
    """All tables; a context manager that closes the clients.

    Args:
        pinot: The cluster.
        kafka: Contains the streams.
        folder: For the sources.

    Attributes:
        client: The controller client.
        store: The property store.
        broker: The broker client.
        files: The tables with FileIngestionTask and a schedule.
        streams: The tables with streams, on the servers hosted in Python.
    """

    def __init__(self, pinot: PinotCluster, kafka: Kafka, folder: Path) -> None:
        self._pinot = pinot
        self._kafka = kafka
        self._folder = folder
        self._open = ExitStack()
        self.client: ControllerClient = self._open.enter_context(pinot.client())
        self.broker: BrokerClient = self._open.enter_context(pinot.broker())
        self.store = self._open.enter_context(PropertyStore(pinot.zookeeper_address, pinot.cluster_name))
        self.files: list[FileTable] = []
        self.streams: list[TopicTable] = []

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def names(self) -> list[str]:
        """The names of all tables, with type."""
        return [
            *(str(each.table.with_type) for each in self.files),
            *(str(each.full_name) for each in self.streams),
        ]

    def make(self) -> None:
        """Create the tables, with a file in each source; the plugins' processes are running already."""
        for number in range(FILE_TABLES):
            name = f"day_files_{number}_{uuid.uuid4().hex[:6]}"
            table = IngestionTable(name, self.client, self.broker, self._pinot.controller_url)
            folder = self._folder / name
            folder.mkdir(parents=True)
            made = FileTable(table.create(), folder)
            # A run fails if its source has no files.
            made.put_file()
            # Once per real minute, that is every two hours of the day, each table at a different second.
            table.register(
                folder,
                "csv",
                schedule=f"{number} * * * * ?",
                consistentPushMaxRetries=_RETRIES,
                minionInstanceTag=MINION_TAG,
            )
            self.files.append(made)
        for number in range(STREAM_TABLES):
            self.streams.append(self._stream(f"day_stream_{number}_{uuid.uuid4().hex[:6]}"))

    def wait_whole(self, timeout_s: float) -> None:
        """Wait until queries see everything that was added, each row once."""
        for each in self.files:
            wait_for(each.has_all, f"{each.rows} rows of {each.table.name}", timeout_s)
        for stream in self.streams:
            stream.wait_seen(stream.produced)

    def feed(self, hour: int) -> None:
        """Add the data of an hour of the day: rows to each stream, and a file to some tables."""
        self.put_rows()
        self.put_files(
            each for number, each in enumerate(self.files) if (number + hour) % _HOURS_BETWEEN_FILES == 0
        )

    def put_files(self, tables: Iterable[FileTable]) -> None:
        """Add a file to the source of each of these tables."""
        for each in tables:
            each.put_file()

    def put_rows(self) -> None:
        """Produce the rows of one segment to each partition of each stream."""
        for stream in self.streams:
            for partition in range(_PARTITIONS):
                stream.produce(partition, _SEGMENT_ROWS)

    def _stream(self, name: str) -> TopicTable:
        topic = Topic(self._kafka.bootstrap, name, _PARTITIONS)
        self._open.callback(topic.delete)
        self.client.schemas.create(
            Schema.from_json(realtime_schema(name, {"part": "INT"}, {"number": "LONG"}))
        )
        config = realtime_table(
            name,
            self._kafka,
            # Each server consumes all partitions, and Pinot divides the number among them.
            rows_per_segment=_PARTITIONS * _SEGMENT_ROWS,
            replicas=2,
            tenant=HOSTED_TENANT,
            peers=True,
            stream={"stream.kafka.fetch.timeout.millis": "500"},
        )
        self.client.tables.create(TableConfig.from_json(config))
        return TopicTable(name, self._pinot, self.client, self.store, self.broker, topic, {})
