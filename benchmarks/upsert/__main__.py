"""This project's upsert, with both engines, against Pinot's own and against none, in one run.

Tables with the same rows, each alone on its own server, with the same JVM options: ``plain`` (no upsert),
``pinot`` (Pinot's upsert; its topic is partitioned by the key, as it must be), ``ours_local`` and
``ours_spark`` (servers hosted in Python with the hook ``upsert``, and a key coordinator with that engine;
rows are in random partitions).

* ``catch-up``: all rows are in Kafka before the table is created, one table after the other. ``rows/s``
  covers the time from the creation until a query sees all rows, including the start of a coordinator;
  ``once begun`` starts at the first visible rows.
* ``freshness``: rows arrive at a steady rate in one table at a time. Measured is the time from Kafka's
  acknowledgement of a row to the first query result that includes it. The version of a result shows which
  rows it includes; without versions, the newest row of each partition does. CPU time per row is given for the
  server, the coordinator and the whole machine, which includes Kafka, the producer and the queries.
* ``queries``: through the stock broker, for this project's tables through one with the hook ``upsert``; at
  rest (the tables in turn) and while rows arrive (in the table that is queried). A table with upsert counts
  keys, the one without counts rows. Joins run where upsert tables are queried by option (Pinot 1.3 and
  later); each joins a table's best rows with all of its rows, of which ``plain`` has several per key.
* ``memory``: of servers after full garbage collections, and of coordinators.
* ``restarts``: of the server, until its results are as before; of the coordinator, until rows are visible
  that arrived while it was stopped.

    python -m benchmarks.upsert --keys 200000 --rows 1000000
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.hosted_server import Server
from benchmarks.local_cluster import open_cluster
from benchmarks.tables import save, show
from benchmarks.upsert.broker import hosted_broker
from benchmarks.upsert.contenders import Contender, Versioned
from benchmarks.upsert.memory_and_restarts import memory, restarts
from benchmarks.upsert.queries import at_rest, check, while_rows_arrive
from benchmarks.upsert.rows import catch_up, fill, freshness
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jvm import logging_options
from tests.support.session import own_session

_TABLES = ("plain", "pinot", "ours_local", "ours_spark")
_OURS = "ours_"

Results = dict[str, list[dict[str, object]]]


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(_TABLES), help="the tables; the first is the baseline")
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="rows before the tables are created; >= keys"
    )
    parser.add_argument("--rows-per-segment", type=int, default=180_000)
    parser.add_argument("--stock-broker", action="store_true", help="query ours with UpsertQueries")
    parser.add_argument("--pauseless", action="store_true", help="pauseless tables; Pinot 1.4 and later")
    parser.add_argument("--rates", default="10000", help="rows/s for the freshness, e.g. 10000,30000")
    parser.add_argument("--seconds", type=int, default=30, help="duration of each rate")
    parser.add_argument("--look-s", type=float, default=0.1, help="between two queries of the freshness")
    parser.add_argument("--query-rows", type=int, default=0, help="write rows up to this number for queries")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of queries at rest; 0: none")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of each query in a round")
    parser.add_argument("--busy-rounds", type=int, default=2, help="rounds while rows arrive; 0: none")
    parser.add_argument("--busy-rate", type=int, default=10_000, help="rows/s during the busy rounds")
    parser.add_argument("--busy-seconds", type=float, default=15.0, help="duration of each busy turn")
    parser.add_argument("--coordinator", action="append", default=[], help="extra coordinator argument")
    parser.add_argument("--java-opts", default="-Xms256m -Xmx2g", help="JVM options of each server")
    parser.add_argument("--timeout-s", type=float, default=900.0, help="limit of each wait")
    parser.add_argument("--port-base", type=int, default=22000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/upsert.json"))
    arguments = parser.parse_args()
    assert arguments.rows >= arguments.keys, "--rows must be at least --keys: each key needs a row first"
    load = os.getloadavg()[0]
    # SIGTERM raises SystemExit, so that the exit stack stops everything that was started.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    results: Results = {"catch-up": [], "freshness": []}
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as at_end:
            run(arguments, Path(folder), at_end, results)
    finally:  # a failure at the end must not lose an hour's results
        _report(arguments, load, {name: rows for name, rows in results.items() if rows})


def run(arguments: argparse.Namespace, folder: Path, at_end: ExitStack, results: Results) -> None:
    """Start everything, measure and fill the results; the stack stops what was started."""
    tables = _start(arguments, folder, at_end)
    wait_s = arguments.timeout_s
    for table in tables:
        results["catch-up"].append(_printed(catch_up(table, arguments.rows, wait_s)))
        for rate in map(int, arguments.rates.split(",")):
            if arguments.seconds:
                fresh = freshness(table, rate, arguments.seconds, arguments.look_s, wait_s)
                results["freshness"].append(_printed(fresh))
    for table in tables:
        fill(table, arguments.query_rows, wait_s)
    check(tables, arguments.keys, tables[0].feed.sent, wait_s)
    if arguments.rounds:
        results["queries at rest"] = at_rest(tables, arguments.rounds, arguments.repeat)
    if arguments.busy_rounds:
        busy = (arguments.busy_rate, arguments.busy_seconds, arguments.busy_rounds)
        results["queries while rows come"] = while_rows_arrive(tables, *busy)
        check(tables, arguments.keys, tables[0].feed.sent, wait_s)
    results["memory"] = memory(tables, arguments.keys)
    results["restarts"] = restarts(tables, wait_s)


def _start(arguments: argparse.Namespace, folder: Path, at_end: ExitStack) -> list[Contender]:
    kafka = at_end.enter_context(own_session()).kafka
    cluster = at_end.enter_context(open_cluster(folder, arguments.port_base))
    store = at_end.enter_context(PropertyStore(cluster.local.zookeeper_address, cluster.local.cluster_name))
    quiet = " ".join(logging_options(level="warn"))
    options = f"{arguments.java_opts} {quiet}"
    broker = None
    if not arguments.stock_broker and _OURS in arguments.tables:
        port = arguments.port_base + 30
        broker = at_end.enter_context(hosted_broker(cluster, folder / "broker", port, quiet))
    tables: list[Contender] = []
    for number, name in enumerate(arguments.tables.split(",")):
        assert name in _TABLES, f"unknown table {name} (expected: {', '.join(_TABLES)})"
        port = arguments.port_base + 40 + 10 * number
        server = Server(name, cluster, folder / name, port, options, hosted=name.startswith(_OURS))
        at_end.callback(server.stop)
        server.start()
        server.join_tenant()
        sizes = (arguments.keys, arguments.rows_per_segment, arguments.pauseless)
        if name.startswith(_OURS):
            engine = name.removeprefix(_OURS)
            tables.append(Versioned(server, kafka, *sizes, store, broker, engine, arguments.coordinator))
        else:
            tables.append(Contender(server, kafka, *sizes))
        at_end.callback(tables[-1].close)
    return tables


def _report(arguments: argparse.Namespace, load: float, results: Results) -> None:
    if not results:
        return  # nothing was measured: keep the results of an earlier run
    for name, rows in results.items():
        print(name)
        show(rows)
    settings = {name: value for name, value in vars(arguments).items() if name != "json"}
    save(arguments.json, {"load before": load, "settings": settings, **results})


def _printed(row: dict[str, object]) -> dict[str, object]:
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
