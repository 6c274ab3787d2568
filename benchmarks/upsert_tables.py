"""The three tables that :mod:`benchmarks.upsert` compares, each alone on its server, with its topic."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import psutil
from confluent_kafka import Message, Producer
from numpy.typing import NDArray

from benchmarks.hosted_server import Server
from controller_client.broker.client import QueryResult
from controller_client.errors import PinotPluginError
from controller_client.models import Schema, TableConfig
from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.queries import UpsertQueries
from controller_client.upsert.tables import find_table
from controller_client.upsert.version_ends import VersionEnds
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jdk import find_java
from tests.integration.upsert.oracle.history import read_ends
from tests.support.coordinator import start_coordinator
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.spark import LOCAL_SPARK

PARTITIONS = 4
_GROUPS = 100
_VALUES = 1_000_000
_CHUNK = 10_000
_TIMEOUT_S = 120.0
_MIB = 2**20
_SPARK = {**LOCAL_SPARK, "spark.driver.memory": "1500m"}


class Feed:
    """Rows of a topic: one of each key, in random order, then of random keys.

    Two feeds that are asked for the same counts write the same rows, apart from their places.

    Args:
        topic: The topic.
        keys: How many there are.
        by_key: Whether a row's partition follows from its key; else it is random.
    """

    def __init__(self, topic: Topic, keys: int, *, by_key: bool) -> None:
        self._topic = topic
        self._keys = keys
        self._by_key = by_key
        self._rows, self._places = np.random.default_rng(1), np.random.default_rng(2)
        self._order = self._rows.permutation(keys)
        self._producer = Producer(
            {"bootstrap.servers": topic.bootstrap, "linger.ms": 20, "enable.idempotence": True}
        )
        self._first_ms = round(time.time() * 1000)
        self.sent = 0
        self.ends = [0] * PARTITIONS

    def now_ms(self) -> int:
        """The time in the next row: each has one more than the one before."""
        return self._first_ms + self.sent

    def write(self, count: int, delivered: Callable[[object, Message], None] | None = None) -> None:
        """Hand rows to the producer, at most 10,000 at once."""
        for first in range(0, count, _CHUNK):
            self._write(min(_CHUNK, count - first), delivered)

    def _write(self, count: int, delivered: Callable[[object, Message], None] | None) -> None:
        keys = self._order[self.sent : self.sent + count]
        keys = np.append(keys, self._rows.integers(0, self._keys, count - len(keys)))
        values = self._rows.integers(0, _VALUES, count)
        places = keys % PARTITIONS if self._by_key else self._places.integers(0, PARTITIONS, count)
        for key, value, place in zip(keys.tolist(), values.tolist(), places.tolist(), strict=True):
            row = (key, value, key % _GROUPS, self.now_ms(), place, self.ends[place])
            text = b'{"id":%d,"value":%d,"team":"team%d","ts":%d,"part":%d,"seq":%d}' % row
            while True:
                try:
                    self._send(text, place, delivered)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            self.ends[place] += 1
            self.sent += 1
        self._producer.poll(0)

    def _send(self, text: bytes, place: int, delivered: Callable[[object, Message], None] | None) -> None:
        if delivered is None:
            self._producer.produce(self._topic.name, text, partition=place)
        else:
            self._producer.produce(self._topic.name, text, partition=place, on_delivery=delivered)

    def flush(self) -> None:
        """Wait until Kafka has all of them."""
        left = self._producer.flush(_TIMEOUT_S)
        assert not left, f"{left} rows were not taken by Kafka"


@dataclass(frozen=True)
class Look:
    """What a query saw.

    Attributes:
        at_s: When its answer was there, seconds since 1970.
        ends: By partition the offset after the newest row that it saw; unused where there is a version.
        version: That it was answered at.
    """

    at_s: float
    ends: tuple[int, ...]
    version: int | None = None


class Contender:
    """A table without upsert (``plain``), or with Pinot's own (``pinot``).

    Args:
        server: Its own.
        kafka: The Kafka.
        keys: How many keys there are.
        rows_per_segment: A partition's segment is sealed when it has this many.
    """

    def __init__(self, server: Server, kafka: Kafka, keys: int, rows_per_segment: int) -> None:
        self.name, self.server, self.kafka = server.name, server, kafka
        self.topic = Topic(kafka.bootstrap, self.name, PARTITIONS)
        self.feed = Feed(self.topic, keys, by_key=self.name == "pinot")
        self._rows_per_segment = rows_per_segment

    def create(self) -> None:
        """Make the table: it reads its topic from the beginning."""
        client, schema, table = self.server.place.client, self._schema(), self._table()
        if self.name == "pinot":
            schema["primaryKeyColumns"] = ["id"]
            table["upsertConfig"] = {"mode": "FULL"}
            table["routing"] = {"instanceSelectorType": "strictReplicaGroup"}
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(table))

    def query(self, sql: str) -> QueryResult:
        """Ask as a user does; ``{table}`` is its name."""
        return self.server.place.broker.query(sql.format(table=self.name))

    def look(self, since_ms: int) -> Look:
        """Ask how far the table is seen, among rows from a time on."""
        try:
            result = self.query(_how_far(since_ms))
        except PinotPluginError:  # nothing is served yet
            return Look(time.time(), (0,) * PARTITIONS)
        seen = {int(part): int(last) + 1 for part, last in result.rows}
        return Look(time.time(), tuple(seen.get(part, 0) for part in range(PARTITIONS)))

    def has_all(self, look: Look) -> bool:
        """Whether all rows were seen that were written."""
        return list(look.ends) == self.feed.ends

    def ends(self, looks: Sequence[Look]) -> NDArray[np.int64]:
        """Return by look and partition how far it saw."""
        return np.maximum.accumulate(np.array([look.ends for look in looks], dtype=np.int64))

    def sealed(self) -> int:
        """How many of its segments are sealed."""
        return len(self.server.place.client.segments.list(f"{self.name}_REALTIME")) - PARTITIONS

    def memory(self) -> tuple[float, float]:
        """Return the heap that is used after a collection, and the resident memory of the server, in MiB."""
        for _ in range(2):
            self._jcmd("GC.run")
        found = re.search(r"used (\d+)K", self._jcmd("GC.heap_info"))
        assert found, "jcmd does not report the heap"
        return int(found[1]) / 1024, float(self.server.rss_mib())

    def close(self) -> None:
        """End what it has beside its server: its clients of Kafka complain when that ends before them."""
        del self.topic, self.feed

    def _jcmd(self, word: str) -> str:
        assert self.server.process is not None
        command = [str(find_java().home / "bin" / "jcmd"), str(self.server.process.pid), word]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout

    def _schema(self) -> dict[str, Any]:
        dimensions = {"id": "LONG", "part": "INT", "team": "STRING"}
        return realtime_schema(self.name, dimensions, {"value": "LONG", "seq": "LONG"})

    def _table(self) -> dict[str, Any]:
        config = realtime_table(
            self.name,
            self.kafka,
            # Pinot divides it by the partitions of a server.
            rows_per_segment=self._rows_per_segment * PARTITIONS,
            tenant=self.name,
            keeps_all=True,
        )
        config["tableIndexConfig"].update(loadMode="MMAP", noDictionaryColumns=["value", "seq", "ts"])
        return config


class Versioned(Contender):
    """A table with the upsert of this project (``ours``).

    Args:
        server: Hosted in Python.
        kafka: The Kafka.
        keys: How many keys there are.
        rows_per_segment: A partition's segment is sealed when it has this many.
        store: The cluster's property store.
        engine: Of the key coordinator.
        options: Of it.
    """

    def __init__(
        self,
        server: Server,
        kafka: Kafka,
        keys: int,
        rows_per_segment: int,
        store: PropertyStore,
        engine: str,
        options: Sequence[str],
    ) -> None:
        super().__init__(server, kafka, keys, rows_per_segment)
        self._store, self._engine, self._options = store, engine, options
        self._queries = UpsertQueries(server.place.broker, store)
        self._coordinator: subprocess.Popen[bytes] | None = None
        self._updates = f"{self.name}_REALTIME.updates"

    def create(self) -> None:
        """Make the table and start the key coordinator."""
        planned = planned_upsert(self._schema(), self._table(), ["id"])
        create_upsert_table(self.server.place.client, planned)
        self._coordinator = start_coordinator(
            self.name,
            self.server.folder,
            self.server.place.cluster.controller_url,
            *self._options,
            spark=_SPARK if self._engine == "spark" else None,
        )

    def query(self, sql: str) -> QueryResult:
        """Ask at the table's mark."""
        return self._queries.query(sql.format(table=self.name)).result

    def look(self, since_ms: int) -> Look:
        """Ask the same as of the others, and keep the version of the answer."""
        assert self._coordinator is not None
        assert self._coordinator.poll() is None, f"look at {self.server.folder / 'coordinator.log'}"
        nothing = (0,) * PARTITIONS
        try:
            answer = self._queries.query(_how_far(since_ms).format(table=self.name))
        except PinotPluginError:  # no version is complete yet
            return Look(time.time(), nothing)
        return Look(time.time(), nothing, next(iter(answer.versions.values())))

    def has_all(self, look: Look) -> bool:
        """Whether the version of the answer covers all rows that were written."""
        if look.version is None:
            return False
        newest = [each.newest_up_to(look.version) for each in self._ends]
        return [end.end if end else 0 for end in newest] == self.feed.ends

    def ends(self, looks: Sequence[Look]) -> NDArray[np.int64]:
        """Return by look and partition where its version ends."""
        known = read_ends(self.kafka.bootstrap, self._updates, PARTITIONS)
        nothing = (0,) * PARTITIONS
        ends = [nothing if look.version is None else known.get(look.version, nothing) for look in looks]
        return np.maximum.accumulate(np.array(ends, dtype=np.int64))

    def coordinator_mib(self) -> float:
        """Resident memory of the key coordinator, with its JVM and workers where it is Spark."""
        assert self._coordinator is not None
        root = psutil.Process(self._coordinator.pid)
        return sum(each.memory_info().rss for each in [root, *root.children(recursive=True)]) / _MIB

    def close(self) -> None:
        """End the key coordinator, by force where it does not in order."""
        if self._coordinator is not None:
            self._coordinator.terminate()
            try:
                self._coordinator.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._coordinator.kill()
                self._coordinator.wait()
        if "_ends" in self.__dict__:
            for each in self._ends:
                each.close()
        self._queries.close()
        super().close()

    @cached_property
    def _ends(self) -> list[VersionEnds]:
        table = find_table(self._store, self.name)
        assert table is not None
        return [VersionEnds(table.stream, self._updates, part) for part in range(PARTITIONS)]


def _how_far(since_ms: int) -> str:
    return f"select part, max(seq) from {{table}} where ts >= {since_ms} group by part limit 100"
