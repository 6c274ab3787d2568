"""The tables that :mod:`benchmarks.upsert` compares, each alone on its server, with its topic."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.hosted_server import Server
from benchmarks.upsert.feed import PARTITIONS, Feed
from controller_client.broker.client import BrokerClient, QueryResult
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

_TIMEOUT_S = 120.0
_MIB = 2**20
_NEAR = 10_000
_SPARK = {**LOCAL_SPARK, "spark.driver.memory": "1500m"}


@dataclass(frozen=True)
class Look:
    """What a query saw.

    Attributes:
        at_s: When its answer was there, seconds since 1970.
        ends: By partition the offset after the newest row that it saw, which a version may leave behind.
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
        pauseless: Whether the next segment consumes while one is built (Pinot 1.4 and later).
    """

    def __init__(
        self, server: Server, kafka: Kafka, keys: int, rows_per_segment: int, pauseless: bool
    ) -> None:
        self.name, self.server, self.kafka = server.name, server, kafka
        self.topic = Topic(kafka.bootstrap, self.name, PARTITIONS)
        self.feed = Feed(self.topic, keys, by_key=self.name == "pinot")
        self._rows_per_segment, self._pauseless = rows_per_segment, pauseless

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
        return Look(time.time(), _ends(result))

    def has_all(self, look: Look) -> bool:
        """Whether all rows were seen that were written."""
        return list(look.ends) == self.feed.ends

    def ends(self, looks: Sequence[Look]) -> NDArray[np.int64]:
        """Return by look and partition how far it saw."""
        return np.maximum.accumulate(np.array([look.ends for look in looks], dtype=np.int64))

    def sealed(self) -> int:
        """How many of its segments are sealed."""
        return len(self.server.place.client.segments.list(f"{self.name}_REALTIME")) - PARTITIONS

    def cpu_s(self) -> dict[str, float]:
        """Return the time of the processor that its processes have had, by what they are, in seconds."""
        assert self.server.process is not None
        return {"server": tree_cpu_s(self.server.process.pid)}

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
            pauseless=self._pauseless,
        )
        config["tableIndexConfig"].update(loadMode="MMAP", noDictionaryColumns=["value", "seq", "ts"])
        return config


class Versioned(Contender):
    """A table with the upsert of this project (``ours_local``, ``ours_spark``).

    Args:
        server: Hosted in Python.
        kafka: The Kafka.
        keys: How many keys there are.
        rows_per_segment: A partition's segment is sealed when it has this many.
        pauseless: As of any table.
        store: The cluster's property store.
        broker: One with the hook ``upsert``; None: the stock one is asked, by ``UpsertQueries``.
        engine: Of the key coordinator.
        options: Of it.
    """

    def __init__(
        self,
        server: Server,
        kafka: Kafka,
        keys: int,
        rows_per_segment: int,
        pauseless: bool,
        store: PropertyStore,
        broker: BrokerClient | None,
        engine: str,
        options: Sequence[str],
    ) -> None:
        super().__init__(server, kafka, keys, rows_per_segment, pauseless)
        self._store, self._broker, self._engine, self._options = store, broker, engine, options
        self._queries = UpsertQueries(server.place.broker, store)
        self._coordinator: subprocess.Popen[bytes] | None = None
        self._updates = f"{self.name}_REALTIME.updates"

    def create(self) -> None:
        """Make the table and start the key coordinator."""
        planned = planned_upsert(self._schema(), self._table(), ["id"])
        create_upsert_table(self.server.place.client, planned)
        self.start_coordinator()

    def start_coordinator(self) -> None:
        """Start the key coordinator, or start it again."""
        self._coordinator = start_coordinator(
            self.name,
            self.server.folder,
            self.server.place.cluster.controller_url,
            *self._options,
            spark=_SPARK if self._engine == "spark" else None,
        )

    def query(self, sql: str) -> QueryResult:
        """Ask at the table's mark."""
        return self._ask(sql)[0]

    def _ask(self, sql: str) -> tuple[QueryResult, int]:
        """Return the answer, and the version that it is of."""
        text = sql.format(table=self.name)
        if self._broker is None:
            answer = self._queries.query(text)
            result, versions = answer.result, answer.versions
        else:
            result = self._broker.query(text)
            versions = result.versions
        return result, next(iter(versions.values()))

    def look(self, since_ms: int) -> Look:
        """Ask the same as of the others, and keep the version of the answer."""
        assert self._coordinator is not None
        assert self._coordinator.poll() is None, f"look at {self.server.folder / 'coordinator.log'}"
        try:
            result, version = self._ask(_how_far(since_ms))
        except PinotPluginError:  # no version is complete yet
            return Look(time.time(), (0,) * PARTITIONS)
        return Look(time.time(), _ends(result), version)

    def has_all(self, look: Look) -> bool:
        """Whether the version of the answer covers all rows that were written."""
        far = any(end - seen > _NEAR for seen, end in zip(look.ends, self.feed.ends, strict=True))
        if look.version is None or far:
            return False  # without a look into Kafka, of which others have none
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

    def cpu_s(self) -> dict[str, float]:
        """As of any table, and of the key coordinator."""
        assert self._coordinator is not None
        return {**super().cpu_s(), "coordinator": tree_cpu_s(self._coordinator.pid)}

    def stop_coordinator(self) -> None:
        """End the key coordinator, by force where it does not in order."""
        if self._coordinator is not None:
            self._coordinator.terminate()
            try:
                self._coordinator.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._coordinator.kill()
                self._coordinator.wait()

    def close(self) -> None:
        """End the key coordinator and the clients."""
        self.stop_coordinator()
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


def _ends(result: QueryResult) -> tuple[int, ...]:
    seen = {int(part): int(last) + 1 for part, last in result.rows}
    return tuple(seen.get(part, 0) for part in range(PARTITIONS))


def _how_far(since_ms: int) -> str:
    return f"select part, max(seq) from {{table}} where ts >= {since_ms} group by part limit 100"


def tree_cpu_s(pid: int) -> float:
    """Return the time of the processor that a process and its children have had, in seconds.

    Of children that have ended, too: Spark's workers come and go.
    """
    root = psutil.Process(pid)
    times = [each.cpu_times() for each in [root, *root.children(recursive=True)]]
    return float(sum(t.user + t.system + t.children_user + t.children_system for t in times))
