"""Upsert of this project beside Pinot's own and beside none: ingestion, freshness, queries, memory.

Three tables of the same rows, each alone on a server of its own with the same JVM options: ``plain`` (no
upsert), ``pinot`` (Pinot's upsert; its topic is partitioned by the key, as it must be) and ``ours`` (a server
hosted in Python with the hook ``upsert``, and the key coordinator; rows are in random partitions).

* ``catch-up``: all rows are in Kafka before the table is made, one table after the other. ``rows/s`` counts
  from there until a query sees all of them, the start of Spark included; ``once begun`` from the first row
  that is seen.
* ``freshness``: then rows come at a steady rate, to that table alone: from Kafka's acknowledgement of a row
  to the answer that sees it; each answer's version shows which rows it sees, the newest row of a partition
  where there are no versions.
* ``queries``: the three tables in turns, A B C C B A, through the stock broker; a table with upsert counts
  keys, the one without counts rows. Joins where upsert tables are queried by option (Pinot 1.3 and later);
  each joins its best rows with all of them, of which ``plain`` has several a key.
* ``memory``: of the servers, after full collections: what they have more than ``plain`` by million keys.

    python -m benchmarks.upsert --keys 200000 --rows 1000000
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np
from confluent_kafka import Message
from numpy.typing import NDArray

from benchmarks.hosted_server import Server
from benchmarks.place import open_place
from benchmarks.tables import save, show
from benchmarks.upsert_tables import Contender, Look, Versioned
from controller_client.errors import PinotPluginError
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jvm import logging_options
from tests.support.needs import Need, has
from tests.support.session import Session

_KINDS = ("plain", "pinot", "ours")
_TICK_S = 0.01
_CATCH_UP_PAUSE_S = 0.5
_QUERIES = {
    "count by filter": "select count(*), max(value) from {table} where value > 900000 and team = 'team17'",
    "group by": "select team, count(*), sum(value) from {table} group by team order by sum(value) limit 20",
    "top N": "select id, value from {table} where value > 500000 order by value desc limit 10",
}
_JOINING = (
    "SET useMultistageEngine = true; SET maxRowsInJoin = 10000000; "  # plain has more rows than Pinot allows
)
_JOINS = {
    "join": _JOINING + "select a.team, count(*), sum(b.value) from {table} a "
    "join {table} b on a.id = b.id where a.value > 990000 group by a.team order by a.team limit 20",
    "join with a window": _JOINING + "select team, id, value from (select a.team, a.id, "
    "b.value, row_number() over (partition by a.team order by b.value desc) as place from {table} a "
    "join {table} b on a.id = b.id where a.value > 990000) where place = 1 order by team limit 20",
}


def catch_up(table: Contender, rows: int, timeout_s: float) -> dict[str, object]:
    """Make a table of rows that are in Kafka, and wait until a query sees all."""
    table.feed.write(rows)
    table.feed.flush()
    started = time.time()
    table.create()
    looks = watch(table, 0, None, _CATCH_UP_PAUSE_S, timeout_s)
    seen = table.ends(looks).sum(axis=1)
    first, last = int(np.flatnonzero(seen)[0]), len(looks) - 1
    rate = rows / (looks[last].at_s - started)
    begun = (seen[last] - seen[first]) / (looks[last].at_s - looks[first].at_s) if first < last else rate
    return {
        "table": table.name,
        "seconds": round(looks[last].at_s - started, 1),
        "rows/s": round(rate),
        "first rows after s": round(looks[first].at_s - started, 1),
        "rows/s once begun": round(begun),
        "sealed segments": table.sealed(),
    }


def freshness(
    table: Contender, rate: int, seconds: int, pause_s: float, timeout_s: float
) -> dict[str, object]:
    """Write rows at a steady rate, and measure how long each is not seen."""
    acknowledged: list[tuple[int, int, float]] = []

    def delivered(fault: object, message: Message) -> None:
        assert fault is None, fault
        acknowledged.append((message.partition() or 0, message.offset() or 0, time.time()))

    since_ms, looks_from = table.feed.now_ms(), time.monotonic()
    done = threading.Event()

    def produce() -> None:
        try:
            for tick in range(round(seconds / _TICK_S)):
                time.sleep(max(0.0, looks_from + tick * _TICK_S - time.monotonic()))
                table.feed.write(round(rate * _TICK_S), delivered)
            table.feed.flush()
        finally:
            done.set()

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        looks = watch(table, since_ms, done, pause_s, timeout_s)
    finally:
        thread.join()
    delays = ages(np.array(acknowledged), looks, table.ends(looks))
    took_s = acknowledged[-1][2] - acknowledged[0][2]
    return {
        "table": table.name,
        "rows": len(delays),
        "produced rows/s": round(len(delays) / took_s),
        "looks": len(looks),
        "p50 s": round(float(np.quantile(delays, 0.5)), 2),
        "p99 s": round(float(np.quantile(delays, 0.99)), 2),
        "worst s": round(float(delays.max()), 2),
    }


def watch(
    table: Contender, since_ms: int, done: threading.Event | None, pause_s: float, timeout_s: float
) -> list[Look]:
    """Look until all rows are seen that are written when the event is set."""
    looks: list[Look] = []
    deadline = time.monotonic() + timeout_s
    while True:
        written = done is None or done.is_set()
        looks.append(table.look(since_ms))
        if written and table.has_all(looks[-1]):
            return looks
        assert time.monotonic() < deadline, f"{table.name}: not all rows are seen after {timeout_s:.0f} s"
        time.sleep(pause_s)


def ages(
    acknowledged: NDArray[np.float64], looks: Sequence[Look], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return of each row (partition, offset, time) the seconds to the first look that saw it."""
    times = np.array([look.at_s for look in looks])
    found = []
    for part in range(ends.shape[1]):
        rows = acknowledged[acknowledged[:, 0] == part]
        found.append(times[np.searchsorted(ends[:, part], rows[:, 1], side="right")] - rows[:, 2])
    return np.concatenate(found)


def queries(tables: Sequence[Contender], rounds: int, repeat: int) -> list[dict[str, object]]:
    """Ask all tables in turns; medians, and what they are to the first table's."""
    asked = _QUERIES | (_JOINS if has(Need.PLUG_IN_POINTS) else {})
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(-1, rounds):  # the first round is for the JVMs' compilers
        for table in tables if number % 2 else reversed(tables):
            for kind, sql in asked.items():
                for _ in range(repeat):
                    started = time.monotonic()
                    table.query(sql)
                    if number >= 0:
                        times.setdefault((kind, table.name), []).append(time.monotonic() - started)
    rows = []
    for kind in asked:
        p50 = {table.name: 1000 * median(times[kind, table.name]) for table in tables}
        row: dict[str, object] = {"query": kind, "times": len(times[kind, tables[0].name])}
        row |= {f"{name} ms": round(value, 1) for name, value in p50.items()}
        row |= {f"{name} / plain": round(value / p50["plain"], 2) for name, value in list(p50.items())[1:]}
        rows.append(row)
    return rows


def memory(tables: Sequence[Contender], keys: int) -> list[dict[str, object]]:
    """Return the servers' memory, and what it is beyond the first one's by million keys."""
    found = {table.name: table.memory() for table in tables}
    rows = []
    for name, (heap, rss) in found.items():
        more = (heap - found["plain"][0]) / (keys / 1_000_000)
        row: dict[str, object] = {"server": name, "heap MiB": round(heap, 1), "RSS MiB": round(rss)}
        rows.append({**row, "heap MiB/million keys": round(more, 1)})
    return rows


def check(tables: Sequence[Contender], keys: int, rows: int, timeout_s: float) -> None:
    """Wait until both upserts have one row a key, and the same ones: the last segments may be under way."""
    deadline = time.monotonic() + timeout_s
    while (wrong := differences(tables, keys, rows)) is not None:
        assert time.monotonic() < deadline, wrong
        time.sleep(_CATCH_UP_PAUSE_S)


def differences(tables: Sequence[Contender], keys: int, rows: int) -> str | None:
    """Return what is not as it should be; None where all is."""
    try:
        totals = {each.name: each.query("select count(*), sum(value) from {table}").rows for each in tables}
    except PinotPluginError as error:
        return error.message
    counts = {name: int(total[0][0]) if total else 0 for name, total in totals.items()}
    is_right = counts == {"plain": rows, "pinot": keys, "ours": keys} and totals["pinot"] == totals["ours"]
    return None if is_right else str(totals)


def main() -> None:
    """Run it, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="before the tables are made; >= keys")
    parser.add_argument("--rows-per-segment", type=int, default=200_000)
    parser.add_argument("--rate", type=int, default=10_000, help="rows/s for freshness")
    parser.add_argument("--seconds", type=int, default=30, help="of freshness")
    parser.add_argument("--look-s", type=float, default=0.5, help="between two looks at the freshness")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=5, help="of each query in a turn")
    parser.add_argument("--engine", choices=("local", "spark"), default="local", help="of our coordinator")
    parser.add_argument("--max-rows-per-version", default="60000")
    parser.add_argument("--version-interval", default="0.25", help="seconds between versions, at least")
    parser.add_argument("--buckets", default="16")
    parser.add_argument("--java-opts", default="-Xms256m -Xmx2g")
    parser.add_argument("--timeout-s", type=float, default=600.0, help="of each wait")
    parser.add_argument("--port-base", type=int, default=22000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/upsert.json"))
    arguments = parser.parse_args()
    assert arguments.rows >= arguments.keys, "each key has a row before the tables are made"
    load = os.getloadavg()[0]
    # So that what was started ends with it.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as at_end:
        results = run(arguments, Path(folder), at_end)
    for rows in results.values():
        show(rows)
    settings = {name: value for name, value in vars(arguments).items() if name != "json"}
    save(arguments.json, {"load before": load, "settings": settings, **results})


def run(arguments: argparse.Namespace, folder: Path, at_end: ExitStack) -> dict[str, list[dict[str, object]]]:
    """Start everything and measure; what was started ends with the stack."""
    session = Session(folder)
    at_end.callback(session.close)
    kafka = session.kafka
    place = at_end.enter_context(open_place(folder, arguments.port_base))
    store = at_end.enter_context(PropertyStore(place.cluster.zookeeper_address, place.cluster.cluster_name))
    options = " ".join((arguments.java_opts, *logging_options(level="warn")))
    coordinator = ["--max-rows-per-version", arguments.max_rows_per_version, "--buckets", arguments.buckets]
    coordinator += ["--version-interval", arguments.version_interval]
    tables: list[Contender] = []
    for number, name in enumerate(_KINDS):
        port = arguments.port_base + 40 + 10 * number
        server = Server(name, place, folder / name, port, options, hosted=name == "ours")
        at_end.callback(server.stop)
        server.start()
        server.take_tenant()
        sizes = (arguments.keys, arguments.rows_per_segment)
        if name == "ours":
            tables.append(Versioned(server, kafka, *sizes, store, arguments.engine, coordinator))
        else:
            tables.append(Contender(server, kafka, *sizes))
        at_end.callback(tables[-1].close)
    caught, fresh = [], []
    for table in tables:
        caught.append(catch_up(table, arguments.rows, arguments.timeout_s))
        print(caught[-1], flush=True)
        rate = (arguments.rate, arguments.seconds)
        fresh.append(freshness(table, *rate, arguments.look_s, arguments.timeout_s))
        print(fresh[-1], flush=True)
    check(tables, arguments.keys, tables[0].feed.sent, arguments.timeout_s)
    asked = queries(tables, arguments.rounds, arguments.repeat)
    used = memory(tables, arguments.keys)
    versioned = tables[-1]
    assert isinstance(versioned, Versioned)
    beside: dict[str, object] = {"key coordinator RSS MiB": round(versioned.coordinator_mib())}
    return {"catch-up": caught, "freshness": fresh, "queries": asked, "memory": used, "beside": [beside]}


if __name__ == "__main__":
    main()
