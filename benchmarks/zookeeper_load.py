"""Requests per second that the pause hooks of many servers and the scheduler send to a real ZooKeeper.

    python -m benchmarks.zookeeper_load --servers 500 --tables 50

The hooks read with the product's own code (``FollowedTables``), one instance per simulated server; each
server has all tables. They tick once a second as in a server, and segments start from time to time. The
scheduler's ``Schedules`` reads every 30 s. No server and no Pinot takes part: the benchmark writes the
tables' ideal states and configs itself, into a cluster with a name of its own. Requests are counted where
they are sent.

=======  ==============================================================================================
phase    what happens
=======  ==============================================================================================
start    all read for the first time
idle     nothing changes
paused   some tables have paused partitions, and nothing else changes
busy     the same, and each second a segment of each paused table is committed, and a table config changes
after    the partitions are resumed
=======  ==============================================================================================
"""

from __future__ import annotations

import argparse
import json
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.tables import save, show
from controller_client.clock import Clock, SystemClock
from controller_client.common.names import TableName, TableType
from controller_client.errors import NotFoundError
from controller_client.helix.ideal_state import ideal_state_path, read_flags_at, set_paused_partitions
from controller_client.helix.table_config import table_config_path
from controller_client.zookeeper import (
    Children,
    PropertyStore,
    Write,
    Znode,
    ZNRecord,
    ZooKeeperConnection,
)
from jvm_bridge.cluster_ports import ClusterPorts
from jvm_bridge.local_cluster import LocalCluster
from minion_tasks.schedules import Schedules
from server_hooks.pause.followed import FollowedTables

_TICK_S = 1.0
_REFRESH_S = 30.0
_PARTITIONS = 16


class CountedConnection(ZooKeeperConnection):
    """A connection that counts the requests that it sends, by kind.

    Args:
        address: The address of ZooKeeper.
        requests: The counter, shared by many connections.
    """

    def __init__(self, address: str, requests: Counter[str]) -> None:
        super().__init__(address, timeout_s=60.0)
        self._requests = requests

    def read(self, path: str, changed: Callable[[Any], None] | None = None) -> Znode | None:
        """See the base class; `watch` counts the request that watches a missing znode."""
        self._requests["reads"] += 1
        return super().read(path, changed)

    def read_children(self, path: str, changed: Callable[[Any], None] | None = None) -> Children:
        """See the base class and `read`."""
        self._requests["lists"] += 1
        return super().read_children(path, changed)

    def watch(self, path: str, changed: Callable[[Any], None]) -> int | None:
        """See the base class."""
        self._requests["watches"] += 1
        return super().watch(path, changed)

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        """See the base class."""
        self._requests["reads"] += len(paths)
        return super().get_many(paths)

    def commit(self, writes: Sequence[Write]) -> None:
        """See the base class."""
        self._requests["writes"] += 1
        super().commit(writes)


class World:
    """The tables of the simulated cluster, written through a connection that is not counted.

    Args:
        store: The property store of the cluster.
        tables: The number of tables.
        servers: The number of servers, each of which has all tables.
        segments: The number of committed segments of each table.
    """

    def __init__(self, store: PropertyStore, tables: int, servers: int, segments: int) -> None:
        self.store = store
        self.tables = [TableName(f"t{number}_REALTIME") for number in range(tables)]
        self.scheduled = [table.as_type(TableType.OFFLINE) for table in self.tables]
        self.servers = [f"Server_10.0.0.{number}_8098" for number in range(servers)]
        self._segments = segments
        self._commits = 0

    def fill(self) -> None:
        """Write everything that the hooks and the scheduler read."""
        connection, cluster = self.store.connection, self.store.cluster_name
        for server in self.servers:
            live = ZNRecord(server, {"SESSION_ID": uuid.uuid4().hex})
            connection.create(f"/{cluster}/LIVEINSTANCES/{server}", live.to_bytes())
        for number, table in enumerate(self.tables):
            names = [f"{table.raw}__{at % _PARTITIONS}__{at}__20260101T0000Z" for at in range(self._segments)]
            replicas = [self.servers[(number + copy) % len(self.servers)] for copy in range(3)]
            state = ZNRecord(table, map_fields={name: dict.fromkeys(replicas, "ONLINE") for name in names})
            connection.create(ideal_state_path(self.store, table), state.to_bytes())
        for table in self.scheduled:
            self.store.create(table_config_path(table), _config(table, "0 0 * * * ?"))

    def pause(self, tables: Sequence[TableName], partitions: frozenset[int]) -> None:
        """Pause these partitions of the tables, and no others."""
        for table in tables:
            set_paused_partitions(self.store, table, lambda _paused: partitions)

    def commit_segments(self, tables: Sequence[TableName]) -> None:
        """Change the ideal states as the commit of a segment does, and one table's config."""
        self._commits += 1
        for table in tables:
            name = f"{table.raw}__0__{self._segments + self._commits}__20260101T0000Z"

            def changed(present: ZNRecord | None, name: str = name) -> ZNRecord:
                assert present is not None
                states = {**present.map_fields, name: {self.servers[0]: "ONLINE"}}
                return replace(present, map_fields=states)

            self.store.change_at(ideal_state_path(self.store, table), changed)
        table = self.scheduled[self._commits % len(self.scheduled)]
        wanted = _config(table, f"0 {self._commits % 60} * * * ?")
        self.store.change(table_config_path(table), lambda _present: wanted)


def _config(table: TableName, schedule: str) -> ZNRecord:
    parts = {"tableName": table, "tableType": table.type}
    parts |= dict.fromkeys(("segmentsConfig", "tenants", "tableIndexConfig"), "{}")
    task = {"taskTypeConfigsMap": {"FileIngestionTask": {"schedule": schedule}}}
    return ZNRecord(table, {**parts, "task": json.dumps(task)})


@dataclass(frozen=True)
class Reader:
    """The part of one server's pause hook that reads."""

    store: PropertyStore
    followed: FollowedTables

    def tick(self, tables: frozenset[TableName]) -> int:
        """Read as the hook does each second; return how many of the tables are paused."""
        self.followed.session()
        return len(self.followed.read(tables).states)


class Fleet:
    """The hooks of all servers, and one scheduler.

    Args:
        world: The tables that they read.
        stores: The property stores that they share; each is a session with ZooKeeper.
        requests: Returns the counts of these stores.
        begun_per_s: Segments that start each second, in the whole cluster.
        clock: The clock.
    """

    def __init__(
        self,
        world: World,
        stores: Sequence[PropertyStore],
        requests: Callable[[], Counter[str]],
        *,
        begun_per_s: int,
        clock: Clock,
    ) -> None:
        self._tables = frozenset(world.tables)
        self._requests = requests
        self._begun_per_s = begun_per_s
        self._clock = clock
        self._readers = [
            Reader(store, FollowedTables(store, server, lambda: None, clock=clock))
            for server, store in zip(world.servers, _cycled(stores, len(world.servers)), strict=True)
        ]
        self._schedules = Schedules(stores[0], clock=clock)
        self._scheduled_s: float | None = None
        self._begun = 0

    def measure(
        self, phase: str, seconds: int, each_second: Callable[[], None] = lambda: None
    ) -> dict[str, object]:
        """Tick once a second; return a row of the table.

        Args:
            phase: The name of the phase.
            seconds: The number of ticks.
            each_second: Makes changes before each tick.
        """
        before, began_s = self._requests(), self._clock.monotonic()
        paused = 0
        for number in range(seconds):
            each_second()
            paused = sum(reader.tick(self._tables) for reader in self._readers)
            self._begin_segments()
            self._schedule()
            self._clock.sleep(max(0.0, began_s + (number + 1) * _TICK_S - self._clock.monotonic()))
        passed_s = self._clock.monotonic() - began_s
        return row(phase, self._requests() - before, seconds, passed_s, paused)

    def _begin_segments(self) -> None:
        tables = sorted(self._tables)
        for _ in range(self._begun_per_s):
            self._begun += 1
            read_flags_at(
                self._readers[self._begun % len(self._readers)].store, tables[self._begun % len(tables)]
            )

    def _schedule(self) -> None:
        now_s = self._clock.monotonic()
        if self._scheduled_s is None or now_s - self._scheduled_s >= _REFRESH_S:
            self._schedules.read()
            self._scheduled_s = now_s


def row(phase: str, requests: Counter[str], ticks: int, seconds: float, paused: int) -> dict[str, object]:
    """Return the row of the table for a phase.

    Args:
        phase: The name of the phase.
        requests: The requests sent during the phase, by kind.
        ticks: The number of ticks, which take a second each on real servers.
        seconds: How long the phase took here, where one process does the work of all servers.
        paused: Tables that servers saw paused at the end, summed over the servers.
    """
    return {
        "phase": phase,
        "seconds": round(seconds, 1),
        **{kind: requests[kind] for kind in ("reads", "lists", "watches", "writes")},
        "requests/s": round(requests.total() / ticks, 1),
        "paused tables seen": paused,
    }


def _cycled(stores: Sequence[PropertyStore], count: int) -> list[PropertyStore]:
    return [stores[number % len(stores)] for number in range(count)]


def run(fleet: Fleet, world: World, *, paused: int, seconds: int) -> list[dict[str, object]]:
    """Run all phases; see the module.

    Args:
        fleet: The hooks and the scheduler.
        world: The tables that they read.
        paused: The number of tables with paused partitions.
        seconds: The duration of each phase except the first and the last.
    """
    tables = world.tables[:paused]
    rows = [fleet.measure("start", 2), fleet.measure("idle", seconds)]
    world.pause(tables, frozenset({0, 1}))
    rows.append(fleet.measure("paused", seconds))
    rows.append(fleet.measure("busy", seconds, lambda: world.commit_segments(tables)))
    world.pause(tables, frozenset())
    rows.append(fleet.measure("after", 5))
    return rows


@contextmanager
def _zookeeper(address: str | None, port_base: int) -> Iterator[str]:
    if address is not None:
        yield address
        return
    with tempfile.TemporaryDirectory() as folder:
        cluster = LocalCluster(Path(folder) / "cluster", ClusterPorts.from_base(port_base))
        cluster.up()
        try:
            yield cluster.zookeeper_address
        finally:
            cluster.down(purge=True)


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", type=int, default=500)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--segments", type=int, default=1000, help="committed segments of each table")
    parser.add_argument("--paused", type=int, default=5, help="number of tables with paused partitions")
    parser.add_argument(
        "--begun", type=int, default=10, help="segments that start each second, in the whole cluster"
    )
    parser.add_argument("--seconds", type=int, default=60, help="duration of each phase")
    parser.add_argument(
        "--sessions", type=int, default=40, help="ZooKeeper sessions; it allows 60 per client"
    )
    parser.add_argument("--zookeeper", help="host:port; default: a local cluster's, started for the run")
    parser.add_argument("--port-base", type=int, default=21000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/zookeeper_load.json"))
    arguments = parser.parse_args()
    requests: Counter[str] = Counter()
    name = f"load_{uuid.uuid4().hex[:8]}"
    with ExitStack() as at_end:
        address = at_end.enter_context(_zookeeper(arguments.zookeeper, arguments.port_base))
        writer = at_end.enter_context(ZooKeeperConnection(address, timeout_s=60.0))
        own = PropertyStore(address, name, timeout_s=60.0)
        at_end.callback(own.close)
        world = World(own, arguments.tables, arguments.servers, arguments.segments)
        at_end.callback(_delete, writer, f"/{name}")
        world.fill()
        stores = []
        for _ in range(arguments.sessions):
            store = PropertyStore(address, name)
            store.connection = CountedConnection(address, requests)
            at_end.callback(store.close)
            stores.append(store)
        fleet = Fleet(world, stores, requests.copy, begun_per_s=arguments.begun, clock=SystemClock())
        rows = run(fleet, world, paused=arguments.paused, seconds=arguments.seconds)
    show(rows)
    given = {key: getattr(arguments, key) for key in ("servers", "tables", "segments", "paused", "begun")}
    save(arguments.json, {**given, "phases": rows})


def _delete(connection: ZooKeeperConnection, path: str) -> None:
    try:
        connection.delete(path, recursive=True)
    except NotFoundError:
        return


if __name__ == "__main__":
    main()
