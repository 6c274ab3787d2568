"""Upsert of this project, with both engines, beside Pinot's own and beside none, in one run.

Tables of the same rows, each alone on a server of its own with the same JVM options: ``plain`` (no
upsert), ``pinot`` (Pinot's upsert; its topic is partitioned by the key, as it must be), ``ours_local``
and ``ours_spark`` (servers hosted in Python with the hook ``upsert``, and a key coordinator with that
engine; rows are in random partitions).

* ``catch-up``: all rows are in Kafka before the table is made, one table after the other. ``rows/s``
  counts from there until a query sees all of them, the start of a coordinator included; ``once begun``
  from the first rows that are seen.
* ``freshness``: rows come at a steady rate, to one table alone: from Kafka's acknowledgement of a row to
  the answer that sees it; each answer's version shows which rows it sees, the newest row of a partition
  where there are no versions. The processor's time a row is of the server, the coordinator, and the
  machine: Kafka, the producer and the looks are in that.
* ``queries``: through the stock broker, ours through one with the hook ``upsert``, at rest (the tables in
  turns) and while rows come (to the table that is asked); a table with upsert counts keys, the one without
  counts rows. Joins where upsert tables are queried by option (Pinot 1.3 and later); each joins its best rows
  with all of them, of which ``plain`` has several a key.
* ``memory``: of servers after full collections, and of coordinators.
* ``restarts``: of the server, until it answers as before; of the coordinator, until rows are seen that
  came while it was away.

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
from benchmarks.place import open_place
from benchmarks.tables import save, show
from benchmarks.upsert.asking import at_rest, check, while_rows_come
from benchmarks.upsert.broker import hosted_broker
from benchmarks.upsert.contenders import Contender, Versioned
from benchmarks.upsert.keeping import memory, restarts
from benchmarks.upsert.rows import catch_up, fill, freshness
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jvm import logging_options
from tests.support.session import Session

_TABLES = ("plain", "pinot", "ours_local", "ours_spark")
_OURS = "ours_"

Results = dict[str, list[dict[str, object]]]


def main() -> None:
    """Run it, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(_TABLES), help="others are compared to the first")
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="before the tables are made; >= keys")
    parser.add_argument("--rows-per-segment", type=int, default=180_000)
    parser.add_argument("--stock-broker", action="store_true", help="ask ours by UpsertQueries, too")
    parser.add_argument("--pauseless", action="store_true", help="all tables; Pinot 1.4 and later")
    parser.add_argument("--rates", default="10000", help="rows/s of the freshness, e.g. 10000,30000")
    parser.add_argument("--seconds", type=int, default=30, help="of each rate")
    parser.add_argument("--look-s", type=float, default=0.1, help="between two looks at the freshness")
    parser.add_argument("--query-rows", type=int, default=0, help="fill up to so many before the queries")
    parser.add_argument("--rounds", type=int, default=6, help="of queries; 0: none")
    parser.add_argument("--repeat", type=int, default=5, help="of each query in a turn")
    parser.add_argument("--busy-rounds", type=int, default=2, help="of queries while rows come; 0: none")
    parser.add_argument("--busy-rate", type=int, default=10_000, help="rows/s meanwhile")
    parser.add_argument("--busy-seconds", type=float, default=15.0, help="of each turn")
    parser.add_argument("--coordinator", action="append", default=[], help="a word more for the coordinators")
    parser.add_argument("--java-opts", default="-Xms256m -Xmx2g", help="of each server")
    parser.add_argument("--timeout-s", type=float, default=900.0, help="of each wait")
    parser.add_argument("--port-base", type=int, default=22000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/upsert.json"))
    arguments = parser.parse_args()
    assert arguments.rows >= arguments.keys, "each key has a row before the tables are made"
    load = os.getloadavg()[0]
    # So that what was started ends with it.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    results: Results = {"catch-up": [], "freshness": []}
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as at_end:
            run(arguments, Path(folder), at_end, results)
    finally:  # an hour's results are not lost for a failure at its end
        _report(arguments, load, {name: rows for name, rows in results.items() if rows})


def run(arguments: argparse.Namespace, folder: Path, at_end: ExitStack, results: Results) -> None:
    """Start everything, measure, and fill the results; what was started ends with the stack."""
    tables = _start(arguments, folder, at_end)
    wait_s = arguments.timeout_s
    for table in tables:
        results["catch-up"].append(_told(catch_up(table, arguments.rows, wait_s)))
        for rate in map(int, arguments.rates.split(",")):
            if arguments.seconds:
                fresh = freshness(table, rate, arguments.seconds, arguments.look_s, wait_s)
                results["freshness"].append(_told(fresh))
    for table in tables:
        fill(table, arguments.query_rows, wait_s)
    check(tables, arguments.keys, tables[0].feed.sent, wait_s)
    if arguments.rounds:
        results["queries at rest"] = at_rest(tables, arguments.rounds, arguments.repeat)
    if arguments.busy_rounds:
        busy = (arguments.busy_rate, arguments.busy_seconds, arguments.busy_rounds)
        results["queries while rows come"] = while_rows_come(tables, *busy)
        check(tables, arguments.keys, tables[0].feed.sent, wait_s)
    results["memory"] = memory(tables, arguments.keys)
    results["restarts"] = restarts(tables, wait_s)


def _start(arguments: argparse.Namespace, folder: Path, at_end: ExitStack) -> list[Contender]:
    session = Session(folder)
    at_end.callback(session.close)
    kafka = session.kafka
    place = at_end.enter_context(open_place(folder, arguments.port_base))
    store = at_end.enter_context(PropertyStore(place.cluster.zookeeper_address, place.cluster.cluster_name))
    quiet = " ".join(logging_options(level="warn"))
    options = f"{arguments.java_opts} {quiet}"
    broker = None
    if not arguments.stock_broker and _OURS in arguments.tables:
        port = arguments.port_base + 30
        broker = at_end.enter_context(hosted_broker(place, folder / "broker", port, quiet))
    tables: list[Contender] = []
    for number, name in enumerate(arguments.tables.split(",")):
        assert name in _TABLES, f"{name} is none of {', '.join(_TABLES)}"
        port = arguments.port_base + 40 + 10 * number
        server = Server(name, place, folder / name, port, options, hosted=name.startswith(_OURS))
        at_end.callback(server.stop)
        server.start()
        server.take_tenant()
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
        return  # nothing was measured, so what an earlier run wrote stays
    for name, rows in results.items():
        print(name)
        show(rows)
    settings = {name: value for name, value in vars(arguments).items() if name != "json"}
    save(arguments.json, {"load before": load, "settings": settings, **results})


def _told(row: dict[str, object]) -> dict[str, object]:
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
