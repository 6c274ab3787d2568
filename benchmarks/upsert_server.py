"""The work of a server hosted in Python to follow an upsert table's versions and to query at a new version.

The benchmark itself writes the rows and the updates topic, so no key coordinator uses CPU time. Each row has
a random key, so each also deletes an earlier row in any partition.

* ``follow``: rows arrive at a steady rate, once without versions and once in versions: the server's CPU time
  per row, without the JVM's compilers, and the delay from sending a version's end until the server reports
  that it is complete.
* ``queries``: a filtered count over all rows, twice for each new version: the first query of the version, and
  the same query repeated.

    python -m benchmarks.upsert_server --rows 2000000
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np
import psutil
from confluent_kafka import Producer
from numpy.typing import NDArray

from benchmarks.hosted_server import Server
from benchmarks.local_cluster import open_cluster
from benchmarks.tables import save, show
from benchmarks.upsert.feed import PARTITIONS
from controller_client.common.names import TableName
from controller_client.upsert.columns import visible_at
from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.update_message import Events, VersionEnd, encode_end, encode_events
from controller_client.upsert.version_option import VERSIONS, option_text
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jvm import logging_options
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.session import own_session

_NAME = "ours"
_TABLE = TableName(f"{_NAME}_REALTIME")
_VALUES = 1_000_000
_LOAD_BATCH = 50_000
_POLL_S = 0.005
_QUERY = f"select count(*), max(value) from {_NAME} where value > 900000"


class Feed:
    """Rows with random keys, and the versions made of them.

    Args:
        kafka: The Kafka broker.
        keys: The number of keys.
    """

    def __init__(self, kafka: Kafka, keys: int) -> None:
        topics = [Topic(kafka.bootstrap, name, PARTITIONS) for name in (_NAME, f"{_TABLE}.updates")]
        self._input, self._updates = (topic.name for topic in topics)
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "acks": "all"})
        self._random = np.random.default_rng(1)
        self._newest: NDArray[np.int64] = np.full((keys, 2), -1, np.int64)
        self._ends = [0] * PARTITIONS
        self._sent_ends = [0] * PARTITIONS
        self._events: list[list[tuple[int, bool]]] = [[] for _ in range(PARTITIONS)]
        self._first_ms = round(time.time() * 1000)
        self._sent = 0
        self.version = -1

    def rows(self, count: int) -> None:
        """Write rows; the next version contains their inserts and deletes."""
        keys = self._random.integers(0, len(self._newest), count).tolist()
        values = self._random.integers(0, _VALUES, count).tolist()
        for key, value in zip(keys, values, strict=True):
            partition = self._sent % PARTITIONS
            self._produce(
                self._input,
                partition,
                b'{"id":%d,"value":%d,"ts":%d}' % (key, value, self._first_ms + self._sent),
            )
            part, offset = self._newest[key].tolist()
            if part >= 0:
                self._events[part].append((offset, True))
            self._events[partition].append((self._ends[partition], False))
            self._newest[key] = partition, self._ends[partition]
            self._ends[partition] += 1
            self._sent += 1
        self._producer.flush()

    def send(self) -> float:
        """Send a version of the rows since the last one; return the time when Kafka had all of it."""
        self.version += 1
        for partition, events in enumerate(self._events):
            offsets = np.array([offset for offset, _ in events], np.int64)
            deleted = np.array([is_delete for _, is_delete in events], np.bool_)
            for message in encode_events(Events(self.version, offsets, deleted)):
                self._produce(self._updates, partition, message)
            events.clear()
        for partition, end in enumerate(self._ends):
            message = encode_end(
                VersionEnd(self.version, self._sent_ends[partition], end, round(time.time() * 1000))
            )
            self._produce(self._updates, partition, message)
            self._sent_ends[partition] = end
        self._producer.flush()
        return time.monotonic()

    def _produce(self, topic: str, partition: int, value: bytes) -> None:
        while True:
            try:
                return self._producer.produce(topic, value, partition=partition)
            except BufferError:
                self._producer.poll(0.1)


class Watch:
    """Records when the server reports that it is complete up to a version.

    Args:
        store: The cluster's property store.
    """

    def __init__(self, store: PropertyStore) -> None:
        self._store = store
        self.complete_at: dict[int, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait(self, version: int, timeout_s: float) -> None:
        """Wait until the server reports this version, or a later one, as complete."""
        deadline = time.monotonic() + timeout_s
        while not any(complete >= version for complete in tuple(self.complete_at)):
            assert time.monotonic() < deadline, f"version {version} is not complete after {timeout_s:.0f} s"
            time.sleep(_POLL_S)

    def delay_s(self, version: int, sent_at: float) -> float:
        """Return the seconds from a moment until the server reported this version or a later one."""
        return min(at for complete, at in self.complete_at.items() if complete >= version) - sent_at

    def close(self) -> None:
        """Stop watching."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_POLL_S):
            self.complete_at.setdefault(read_mark(self._store, _TABLE).version, time.monotonic())


def follow(
    server: Server, feed: Feed, watch: Watch, arguments: argparse.Namespace, *, versions: bool
) -> dict[str, object]:
    """Write rows at a steady rate, with versions or with a single one at the end; return the figures."""
    count = arguments.rows_per_version
    pause_s, rounds = count / arguments.rate, round(arguments.seconds * arguments.rate / count)
    sent_at: dict[int, float] = {}
    before, started = _cpu_s(server), time.monotonic()
    for number in range(rounds):
        time.sleep(max(0.0, started + number * pause_s - time.monotonic()))
        feed.rows(count)
        if versions:
            at = feed.send()
            sent_at[feed.version] = at
    time.sleep(max(0.0, started + rounds * pause_s - time.monotonic()))
    if versions:
        watch.wait(feed.version, arguments.timeout_s)
    took_s, cpu_s = time.monotonic() - started, _cpu_s(server) - before
    if not versions:
        feed.send()
        watch.wait(feed.version, arguments.timeout_s)
    delays = sorted(watch.delay_s(version, at) for version, at in sent_at.items())
    rows = rounds * count
    row: dict[str, object] = {"versions": len(sent_at), "rows": rows, "rows/s": round(rows / took_s)}
    row["server CPU us/row"] = round(1e6 * cpu_s / rows, 1)
    row["sent to complete p50 ms"] = round(1000 * median(delays)) if delays else ""
    row["p99 ms"] = round(1000 * delays[int(0.99 * len(delays))]) if delays else ""
    return row


def queries(
    server: Server, store: PropertyStore, feed: Feed, watch: Watch, arguments: argparse.Namespace
) -> list[dict[str, object]]:
    """Query twice at each of a number of new versions; return the medians."""
    broker, by_option = server.cluster.broker, read_mark(store, _TABLE).cut_by_option
    times: dict[str, list[float]] = {"first of its version": [], "repeated": []}
    for number in range(-5, arguments.queries):  # the first ones warm up the JVM's compilers
        feed.rows(arguments.rows_per_version)
        feed.send()
        watch.wait(feed.version, arguments.timeout_s)
        for taken in times.values():
            where, options = f" and {visible_at(feed.version)}", {}
            if by_option:
                where, options = "", {VERSIONS: option_text({_TABLE: feed.version}, "")}
            started = time.monotonic()
            broker.query(_QUERY + where, options=options)
            if number >= 0:
                taken.append(1000 * (time.monotonic() - started))
    return [
        {"query": kind, "p50 ms": round(median(taken), 1), "least ms": round(min(taken), 1)}
        for kind, taken in times.items()
    ]


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows before the measurements")
    parser.add_argument("--rows-per-segment", type=int, default=250_000)
    parser.add_argument("--rate", type=int, default=10_000, help="rows/s")
    parser.add_argument("--rows-per-version", type=int, default=2_500)
    parser.add_argument("--seconds", type=int, default=20, help="duration of each steady rate")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--java-opts", default="-Xms256m -Xmx2g -XX:-UseDynamicNumberOfCompilerThreads")
    parser.add_argument("--timeout-s", type=float, default=300.0, help="limit of each wait")
    parser.add_argument("--port-base", type=int, default=22000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/upsert_server.json"))
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    # SIGTERM raises SystemExit, so that the exit stack stops everything that was started.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as at_end:
        results = run(arguments, Path(folder), at_end)
    for rows in results.values():
        show(rows)
    settings = {name: value for name, value in vars(arguments).items() if name != "json"}
    save(arguments.json, {"load before": load, "settings": settings, **results})


def run(arguments: argparse.Namespace, folder: Path, at_end: ExitStack) -> dict[str, list[dict[str, object]]]:
    """Start everything and measure; the stack stops it."""
    kafka = at_end.enter_context(own_session()).kafka
    cluster = at_end.enter_context(open_cluster(folder, arguments.port_base))
    store = at_end.enter_context(PropertyStore(cluster.local.zookeeper_address, cluster.local.cluster_name))
    options = " ".join((arguments.java_opts, *logging_options(level="warn")))
    server = Server(_NAME, cluster, folder / _NAME, arguments.port_base + 40, options, hosted=True)
    at_end.callback(server.stop)
    server.start()
    server.join_tenant()
    feed = Feed(kafka, arguments.keys)
    config = realtime_table(
        _NAME,
        kafka,
        rows_per_segment=arguments.rows_per_segment * PARTITIONS,  # Pinot divides it by a server's partitions
        tenant=_NAME,
        keeps_all=True,
    )
    config["tableIndexConfig"].update(loadMode="MMAP", noDictionaryColumns=["value", "ts"])
    schema = realtime_schema(_NAME, {"id": "LONG"}, {"value": "LONG"})
    create_upsert_table(cluster.client, planned_upsert(schema, config, ["id"]))
    watch = Watch(store)
    at_end.callback(watch.close)
    for first in range(0, arguments.rows, _LOAD_BATCH):
        feed.rows(min(_LOAD_BATCH, arguments.rows - first))
        feed.send()
    watch.wait(feed.version, arguments.timeout_s)
    follow(server, feed, watch, arguments, versions=True)  # warms up the JVM's compilers
    followed = []
    for versions in (False, True):
        followed.append(follow(server, feed, watch, arguments, versions=versions))
        print(followed[-1], flush=True)
    return {"follow": followed, "queries": queries(server, store, feed, watch, arguments)}


def _cpu_s(server: Server) -> float:
    """Return the server's CPU time without the JVM's compilers, which work most at the beginning."""
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    times = process.cpu_times()
    compilers = 0.0
    for thread in process.threads():
        name = Path(f"/proc/{process.pid}/task/{thread.id}/comm")
        if name.exists() and re.match(r"C[12] Compiler", name.read_text()):
            compilers += thread.user_time + thread.system_time
    return float(times.user + times.system) - compilers


if __name__ == "__main__":
    main()
