"""A server hosted in Python against a stock one: queries per second, latency, memory and start time.

A local cluster gets two more servers, started the same way with the same JVM options, each the only server of
its tenant: Pinot's own, started with ``java``, and one started with ``pinotctl serve server`` and all
installed hooks. Each has a table with the same segments. Client threads send a mix of queries (filter with
aggregation, group by, selection) through the broker, to one server at a time, in slices of one second in the
order A B B A, so that other load on the machine affects both equally. CPU time per query depends least on it.

    python -m benchmarks.hosted_server --parquet flights.parquet
"""

from __future__ import annotations

import argparse
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median, quantiles

import psutil
import pyarrow as pa
import requests

from benchmarks.ingestion import read_data
from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.tables import save, show
from controller_client.broker.client import BrokerClient
from controller_client.models import Schema, TableConfig
from jvm_bridge.builder import SegmentBuilder
from jvm_bridge.jars import pinot_jars
from jvm_bridge.jdk import find_java, module_flags
from jvm_bridge.jvm import logging_options, start_jvm
from jvm_bridge.local_cluster import HOST
from jvm_bridge.local_cluster.roles import CLUSTER_NAME
from tests.support.offline_tables import offline_table
from tests.support.pinotctl import pinotctl

_MAIN = "org.apache.pinot.tools.admin.PinotAdministrator"
_MIB = 2**20
_POLL_S = 0.02
_TIMEOUT_S = 120.0

_QUERIES = (
    "select count(*), sum(distance), max(delay) from {table} where origin = 'ATL' and delay > 30",
    "select count(*), avg(delay) from {table} where destination in ('SFO', 'LAX') and distance > 1000",
    "select origin, count(*), avg(delay) from {table} group by origin order by count(*) desc limit 10",
    "select destination, max(delay) from {table} where delay > 60 group by destination limit 1000",
    "select origin, destination, delay from {table} where origin = 'PHL' and delay > 120 limit 100",
)


@dataclass
class Server:
    """One server, stock or hosted in Python, the only one of its tenant.

    Attributes:
        name: The name of the server, its tenant and its table.
        cluster: The cluster that it joins.
        folder: The server's folder.
        port: The first of five ports.
        java_opts: The JVM's options.
        hosted: Whether it is hosted in Python.
        latencies_s: The latencies of all measured queries.
        cpu_s: The CPU time of its process for these queries.
        slices: The queries per second of each slice.
        starts_s: The duration of each start, until the server is healthy and has its segments.
        idle_mib: Resident memory after each start.
        busy_mib: Resident memory after the queries of each start.
        process: Its process, after the first start.
    """

    name: str
    cluster: BenchmarkCluster
    folder: Path
    port: int
    java_opts: str
    hosted: bool
    latencies_s: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    slices: list[float] = field(default_factory=list)
    starts_s: list[float] = field(default_factory=list)
    idle_mib: list[int] = field(default_factory=list)
    busy_mib: list[int] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it and wait until it is healthy; return the seconds."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "server.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
        arguments = ["-configFileName", str(config)]
        java = find_java()
        if self.hosted:
            command = pinotctl("serve", "server", *arguments)
        else:
            command = [str(java.executable), *self.java_opts.split(), *module_flags(java.version), "-cp"]
            command += [":".join(map(str, pinot_jars().class_path)), _MAIN, "StartServer", *arguments]
        environment = {**os.environ, "JAVA_OPTS": self.java_opts}
        started = time.monotonic()
        with (self.folder / "output.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        while not self._healthy():
            log_path = self.folder / "output.log"
            assert self.process.poll() is None, f"{self.name} exited: see {log_path}"
            assert time.monotonic() - started < _TIMEOUT_S, f"{self.name} is not healthy yet: see {log_path}"
            time.sleep(_POLL_S)
        return time.monotonic() - started

    def stop(self) -> None:
        """Terminate it and wait for its end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def rss_mib(self) -> int:
        """Return its resident memory; Python and Java run in the same process."""
        assert self.process is not None
        return round(psutil.Process(self.process.pid).memory_info().rss / _MIB)

    def join_tenant(self) -> None:
        """Tag it as the server of the tenant with its name."""
        tags = [f"{self.name}_OFFLINE", f"{self.name}_REALTIME"]
        self.cluster.client.instances.set_tags(f"Server_{HOST}_{self.port}", tags)

    def load(self, schema: Schema, tars: Sequence[Path], rows: int) -> None:
        """Create its table, the only one of its tenant, and push the segments."""
        client = self.cluster.client
        self.join_tenant()
        client.schemas.create(schema)
        client.tables.create(TableConfig.from_json(table_document(self.name)))
        for tar in tars:
            client.segments.upload_tar(f"{self.name}_OFFLINE", tar)
        self.cluster.wait_rows(self.name, rows)

    def measure(self, clients: int, seconds: float, *, keep: bool) -> None:
        """Query it from many threads for a time; record the figures if ``keep`` is true."""
        counts: list[list[float]] = [[] for _ in range(clients)]
        cpu_s, started = self._cpu_s(), time.monotonic()
        threads = [
            threading.Thread(target=self._query, args=(started + seconds, number, counts[number]))
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.monotonic() - started
        latencies = [latency for one in counts for latency in one]
        if keep:
            self.latencies_s += latencies
            self.cpu_s += self._cpu_s() - cpu_s
            self.slices.append(len(latencies) / elapsed)

    def _cpu_s(self) -> float:
        assert self.process is not None
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def _query(self, until: float, first: int, latencies: list[float]) -> None:
        with BrokerClient([self.cluster.local.broker_url]) as broker:
            number = first
            while (now := time.monotonic()) < until:
                broker.query(_QUERIES[number % len(_QUERIES)].format(table=self.name))
                latencies.append(time.monotonic() - now)
                number += 1

    def _healthy(self) -> bool:
        try:
            return requests.get(f"http://{HOST}:{self.port + 1}/health", timeout=5).text == "OK"
        except (requests.ConnectionError, requests.Timeout):
            return False

    def _properties(self) -> dict[str, str]:
        listener = "pinot.server.adminapi.access.protocols"
        return {
            "pinot.cluster.name": CLUSTER_NAME,
            "pinot.zk.server": self.cluster.local.zookeeper_address,
            "pinot.set.instance.id.to.hostname": "true",
            "pinot.server.netty.host": HOST,
            "pinot.server.netty.port": str(self.port),
            listener: "http",
            f"{listener}.http.host": HOST,
            f"{listener}.http.port": str(self.port + 1),
            "pinot.server.grpc.port": str(self.port + 2),
            "pinot.server.instance.dataDir": str(self.folder / "index"),
            "pinot.server.instance.segmentTarDir": str(self.folder / "tars"),
            "pinot.server.shutdown.enableQueryCheck": "false",
        }

    def row(self) -> dict[str, object]:
        """Return its figures."""
        cuts = quantiles(self.latencies_s, n=100)
        return {
            "server": self.name,
            "queries": len(self.latencies_s),
            "queries/s": round(mean(self.slices), 1),
            "CPU ms/query": round(1000 * self.cpu_s / len(self.latencies_s), 2),
            "p50 ms": round(1000 * cuts[49], 2),
            "p99 ms": round(1000 * cuts[98], 2),
            "idle MiB": round(median(self.idle_mib)),
            "busy MiB": round(median(self.busy_mib)),
            "start s": round(median(self.starts_s), 2),
        }


def table_document(name: str) -> dict[str, object]:
    """Return a table's configuration."""
    return offline_table(name, tenant=name, indexing={"invertedIndexColumns": ["origin"]})


def schema_document(name: str) -> dict[str, object]:
    """Return the schema of the flights that the queries read."""
    types = {"delay": "LONG", "distance": "LONG", "origin": "STRING", "destination": "STRING"}
    fields = [{"name": column, "dataType": kind} for column, kind in types.items()]
    return {"schemaName": name, "dimensionFieldSpecs": fields}


def build(data: pa.Table, segments: int, folder: Path) -> list[Path]:
    """Build segments of equal size."""
    start_jvm(max_heap_mb=1024)
    folder.mkdir(parents=True, exist_ok=True)
    builder = SegmentBuilder(table_document("flights"), schema_document("flights"), folder)
    size = -(-data.num_rows // segments)
    return [
        builder.from_arrow(data.slice(number * size, size), f"flights_{number}").tar_path
        for number in range(segments)
    ]


def measure(servers: tuple[Server, Server], arguments: argparse.Namespace, rows: int) -> float:
    """Restart both servers, warm them up and query them in turn; return the ratio of their speeds.

    The JVM's compiler gives different results at each start, so there are several starts.
    """
    for server in servers:
        server.stop()
        server.starts_s.append(server.start())
        server.idle_mib.append(server.rss_mib())
        server.cluster.wait_rows(server.name, rows)
    for number in range(-arguments.warm_up, arguments.rounds):
        for server in servers if number % 2 else reversed(servers):
            server.measure(arguments.clients, arguments.slice_s, keep=number >= 0)
    for server in servers:
        server.busy_mib.append(server.rss_mib())
    stock, hosted = (server.slices[-arguments.rounds :] for server in servers)
    return sum(hosted) / sum(stock)


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--parquet", type=Path, required=True, help="flights: delay, distance, origin, destination"
    )
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=20, help="rounds that are not counted")
    parser.add_argument("--slice-s", type=float, default=1.0)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--java-opts", default="-Xms512m -Xmx512m")
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark-hosted-server"))
    parser.add_argument("--port-base", type=int, default=22000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/hosted_server.json"))
    arguments = parser.parse_args()
    folder = arguments.dir.absolute()
    options = " ".join((arguments.java_opts, *logging_options(level="warn")))
    data = read_data(arguments.parquet, arguments.rows).select(["delay", "distance", "origin", "destination"])
    tars = build(data, arguments.segments, folder / "segments")
    with open_cluster(folder, arguments.port_base) as cluster:
        ports = (arguments.port_base + 40, arguments.port_base + 50)
        stock, hosted = servers = tuple(
            Server(name, cluster, folder / name, port, options, hosted=name == "hosted")
            for name, port in zip(("stock", "hosted"), ports, strict=True)
        )
        ratios: list[float] = []
        try:
            for server in servers:
                server.start()
                server.load(Schema.from_json(schema_document(server.name)), tars, data.num_rows)
            for number in range(arguments.starts):
                ratios.append(measure((stock, hosted), arguments, data.num_rows))
                print(f"start {number + 1}: hosted / stock {ratios[-1]:.3f}", flush=True)
            rows = [server.row() for server in servers]
        finally:
            for server in servers:
                server.stop()
    cpu = [server.cpu_s / len(server.latencies_s) for server in (stock, hosted)]
    ratio: dict[str, object] = {
        "hosted / stock": "",
        "queries/s": round(sum(hosted.slices) / sum(stock.slices), 3),
        "of each start": ", ".join(f"{each:.3f}" for each in ratios),
        "CPU/query": round(cpu[1] / cpu[0], 3),
    }
    show(rows)
    show([ratio])
    slices = {server.name: [round(value, 1) for value in server.slices] for server in servers}
    settings = {"options": arguments.java_opts, "rows": data.num_rows, "clients": arguments.clients}
    save(arguments.json, {**settings, "results": rows, "ratio": ratio, "slices": slices})


if __name__ == "__main__":
    main()
