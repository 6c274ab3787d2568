"""The tables that :mod:`benchmarks.upsert` compares, each with a server and a topic of its own."""

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
class Observation:
    """The rows that a query saw.

    Attributes:
        at_s: When its result arrived, in seconds since 1970.
        ends: By partition, the offset after the newest row that it saw; a version may end later.
        version: The version of the result.
    """

    at_s: float
    ends: tuple[int, ...]
    version: int | None = None


class Contender:
    """A table without upsert (``plain``), or with Pinot's own (``pinot``).

    Args:
        server: The table's server.
        kafka: The Kafka broker.
        keys: The number of keys.
        rows_per_segment: The number of rows at which a partition's segment is sealed.
        pauseless: Whether the next segment consumes while the last one is built (Pinot 1.4 and later).
    """

    def __init__(
        self, server: Server, kafka: Kafka, keys: int, rows_per_segment: int, pauseless: bool
    ) -> None:
        self.name, self.server, self.kafka = server.name, server, kafka
        self.topic = Topic(kafka.bootstrap, self.name, PARTITIONS)
        self.feed = Feed(self.topic, keys, by_key=self.name == "pinot")
        self._rows_per_segment, self._pauseless = rows_per_segment, pauseless

    def create(self) -> None:
        """Create the table, which reads its topic from the beginning."""
        client, schema, table = self.server.cluster.client, self._schema(), self._table()
        if self.name == "pinot":
            schema["primaryKeyColumns"] = ["id"]
            table["upsertConfig"] = {"mode": "FULL"}
            table["routing"] = {"instanceSelectorType": "strictReplicaGroup"}
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(table))

    def query(self, sql: str) -> QueryResult:
        """Query as a user does; ``{table}`` stands for the table's name."""
        return self.server.cluster.broker.query(sql.format(table=self.name))

    def observe(self, since_ms: int) -> Observation:
        """Query the newest visible row of each partition, among the rows from a time on."""
        try:
            result = self.query(_newest_rows_sql(since_ms))
        except PinotPluginError:  # nothing is served yet
            return Observation(time.time(), (0,) * PARTITIONS)
        return Observation(time.time(), _ends(result))

    def has_all(self, observation: Observation) -> bool:
        """Return whether the observation saw all rows that were written."""
        return list(observation.ends) == self.feed.ends

    def ends(self, observations: Sequence[Observation]) -> NDArray[np.int64]:
        """Return the end of the visible rows, by observation and partition."""
        ends = [observation.ends for observation in observations]
        return np.maximum.accumulate(np.array(ends, dtype=np.int64))

    def sealed(self) -> int:
        """Return the number of its sealed segments."""
        return len(self.server.cluster.client.segments.list(f"{self.name}_REALTIME")) - PARTITIONS

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU time of its processes so far, by role, in seconds."""
        assert self.server.process is not None
        return {"server": tree_cpu_s(self.server.process.pid)}

    def memory(self) -> tuple[float, float]:
        """Return the server's used heap after a garbage collection, and its resident memory, in MiB."""
        for _ in range(2):
            self._jcmd("GC.run")
        found = re.search(r"used (\d+)K", self._jcmd("GC.heap_info"))
        assert found, "jcmd does not report the heap"
        return int(found[1]) / 1024, float(self.server.rss_mib())

    def close(self) -> None:
        """Close its Kafka clients, which would log errors if Kafka stopped before them."""
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
            # Pinot divides it by the server's number of partitions.
            rows_per_segment=self._rows_per_segment * PARTITIONS,
            tenant=self.name,
            keeps_all=True,
            pauseless=self._pauseless,
        )
        config["tableIndexConfig"].update(loadMode="MMAP", noDictionaryColumns=["value", "seq", "ts"])
        return config


class Versioned(Contender):
    """A table with this project's upsert (``ours_local``, ``ours_spark``).

    Args:
        server: The table's server, hosted in Python.
        kafka: The Kafka broker.
        keys: The number of keys.
        rows_per_segment: The number of rows at which a partition's segment is sealed.
        pauseless: Whether the next segment consumes while the last one is built (Pinot 1.4 and later).
        store: The cluster's property store.
        broker: A broker with the hook ``upsert``; None: the stock broker, through ``UpsertQueries``.
        engine: The engine of the key coordinator.
        options: More arguments of the key coordinator.
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
        self._queries = UpsertQueries(server.cluster.broker, store)
        self._coordinator: subprocess.Popen[bytes] | None = None
        self._updates = f"{self.name}_REALTIME.updates"

    def create(self) -> None:
        """Create the table and start the key coordinator."""
        planned = planned_upsert(self._schema(), self._table(), ["id"])
        create_upsert_table(self.server.cluster.client, planned)
        self.start_coordinator()

    def start_coordinator(self) -> None:
        """Start or restart the key coordinator."""
        self._coordinator = start_coordinator(
            self.name,
            self.server.folder,
            self.server.cluster.local.controller_url,
            *self._options,
            spark=_SPARK if self._engine == "spark" else None,
        )

    def query(self, sql: str) -> QueryResult:
        """Query at the table's low-water mark."""
        return self._query(sql)[0]

    def _query(self, sql: str) -> tuple[QueryResult, int]:
        """Return the result and its version."""
        text = sql.format(table=self.name)
        if self._broker is None:
            answer = self._queries.query(text)
            result, versions = answer.result, answer.versions
        else:
            result = self._broker.query(text)
            versions = result.versions
        return result, next(iter(versions.values()))

    def observe(self, since_ms: int) -> Observation:
        """Run the same query as for other tables, and keep the version of the result."""
        assert self._coordinator is not None
        log = self.server.folder / "coordinator.log"
        assert self._coordinator.poll() is None, f"the coordinator exited: see {log}"
        try:
            result, version = self._query(_newest_rows_sql(since_ms))
        except PinotPluginError:  # no version is complete yet
            return Observation(time.time(), (0,) * PARTITIONS)
        return Observation(time.time(), _ends(result), version)

    def has_all(self, observation: Observation) -> bool:
        """Return whether the observed version covers all rows that were written."""
        far = any(end - seen > _NEAR for seen, end in zip(observation.ends, self.feed.ends, strict=True))
        if observation.version is None or far:
            return False  # saves the read from Kafka below, which other tables do not need
        newest = [each.newest_up_to(observation.version) for each in self._ends]
        return [end.end if end else 0 for end in newest] == self.feed.ends

    def ends(self, observations: Sequence[Observation]) -> NDArray[np.int64]:
        """Return the end of the observed version, by observation and partition."""
        by_version = read_ends(self.kafka.bootstrap, self._updates, PARTITIONS)
        nothing = (0,) * PARTITIONS
        versions = [observation.version for observation in observations]
        ends = [nothing if each is None else by_version.get(each, nothing) for each in versions]
        return np.maximum.accumulate(np.array(ends, dtype=np.int64))

    def coordinator_mib(self) -> float:
        """Return the resident memory of the key coordinator, including Spark's JVM and workers."""
        assert self._coordinator is not None
        root = psutil.Process(self._coordinator.pid)
        return sum(each.memory_info().rss for each in [root, *root.children(recursive=True)]) / _MIB

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU time of the server and of the key coordinator."""
        assert self._coordinator is not None
        return {**super().cpu_s(), "coordinator": tree_cpu_s(self._coordinator.pid)}

    def stop_coordinator(self) -> None:
        """Terminate the key coordinator; kill it if that takes too long."""
        if self._coordinator is not None:
            self._coordinator.terminate()
            try:
                self._coordinator.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._coordinator.kill()
                self._coordinator.wait()

    def close(self) -> None:
        """Stop the key coordinator and close the clients."""
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


def _newest_rows_sql(since_ms: int) -> str:
    return f"select part, max(seq) from {{table}} where ts >= {since_ms} group by part limit 100"


def tree_cpu_s(pid: int) -> float:
    """Return the CPU time of a process and its children so far, in seconds.

    Children that have ended count too: Spark's workers come and go.
    """
    root = psutil.Process(pid)
    times = [each.cpu_times() for each in [root, *root.children(recursive=True)]]
    return float(sum(t.user + t.system + t.children_user + t.children_system for t in times))
