"""The cost of committing a segment, with the deep store on the critical path and without it.

    python -m benchmarks.commits --segments 5 --rows 200000

Two tables on two servers hosted in Python get the same rows, in turn, one segment at a time:

* ``by the controller``: Pinot's default; the committing server sends the segment to the controller, which
  uploads it,
* ``by the server``: peer download and the hook ``commit-upload``; the server uploads the segment, the
  controller receives metadata only.

``commit s`` is the time from the segment's last row until its record shows that it is committed.
``controller bytes`` is what the controller's process read and wrote during that time. ``store away`` is the
same with a store that hangs. Freshness: rows with the current time are produced every 200 ms; measured is the
age of the newest row that a query sees, before, while the store hangs, and after.
"""

from __future__ import annotations

import argparse
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

import psutil

from benchmarks.tables import save, show
from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.deepstore.segment_record import read_record
from controller_client.errors import QueryError
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.support.kafka_topics import Topic
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.processes import children_running
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.session import Session, own_session

_T = TypeVar("_T")

_POLL_S = 0.01
_TIMEOUT_S = 300.0
_FRESH_INTERVAL_S = 0.2


@dataclass(frozen=True)
class Commit:
    """One measured commit."""

    way: str
    commit_s: float
    controller_bytes: int


class Streamed:
    """A table with one partition, whose segments have a given number of rows."""

    def __init__(
        self, session: Session, client: ControllerClient, store: PropertyStore, rows: int, peers: bool
    ) -> None:
        self.name = f"commits_{uuid.uuid4().hex[:8]}"
        self.table = TableName(f"{self.name}_REALTIME")
        self.rows = rows
        self.store = store
        self.broker: BrokerClient = session.pinot.broker()
        self.topic = Topic(session.kafka.bootstrap, self.name, 1)
        client.schemas.create(Schema.from_json(realtime_schema(self.name, {"text": "STRING"})))
        config = realtime_table(
            self.name, session.kafka, rows_per_segment=rows, replicas=2, tenant=HOSTED_TENANT, peers=peers
        )
        config["tableIndexConfig"]["noDictionaryColumns"] = ["text"]
        client.tables.create(TableConfig.from_json(config))

    def consuming(self) -> str:
        """Wait for the consuming segment; the ideal state may still name the last committed one."""

        def uncommitted() -> str | None:
            names = read_ideal_state(self.store, self.table).consuming
            return next((name for name in names if not self._is_committed(name)), None)

        return wait_for(uncommitted)

    def count(self) -> int:
        """Return the number of rows that queries see."""
        try:
            return int(self.broker.query(f"select count(*) from {self.name}").scalar() or 0)
        except QueryError:
            return 0

    def newest_ms(self) -> float:
        """Return the time in the newest row that queries see."""
        try:
            return float(self.broker.query(f"select max(ts) from {self.name}").scalar() or 0)
        except QueryError:
            return 0

    def produce(self, count: int) -> None:
        """Produce rows of about 200 bytes that do not compress well."""
        now = round(time.time() * 1000)
        self.topic.produce({0: ({"text": uuid.uuid4().hex * 6, "ts": now} for _ in range(count))})

    def commit(self, way: str, controller: psutil.Process) -> Commit:
        """Fill a segment except for one row, then produce that row and measure the commit."""
        segment, before = self.consuming(), self.count()
        self.produce(self.rows - 1)
        wait_for(lambda: self.count() >= before + self.rows - 1)
        bytes_before = process_bytes(controller)
        self.produce(1)
        started = time.monotonic()
        wait_for(lambda: self._is_committed(segment))
        took_s = time.monotonic() - started
        return Commit(way, took_s, process_bytes(controller) - bytes_before)

    def _is_committed(self, segment: str) -> bool:
        record = read_record(self.store, self.table, segment)
        return record is not None and not record.consuming


def process_bytes(process: psutil.Process) -> int:
    """Return the bytes that a process has read and written, including sockets."""
    io = process.io_counters()
    return int(io.read_chars + io.write_chars)


def wait_for(condition: Callable[[], _T | None]) -> _T:
    """Poll until the result is true, and return it."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition was not met within {_TIMEOUT_S:.0f} s")
        time.sleep(_POLL_S)
    return result


@contextmanager
def freshness(table: Streamed) -> Iterator[list[tuple[float, float]]]:
    """Produce rows continuously; collect (seconds since the start, age in s of the newest row seen)."""
    seen: list[tuple[float, float]] = []
    done = threading.Event()
    started = time.monotonic()

    def produce() -> None:
        while not done.wait(_FRESH_INTERVAL_S):
            table.produce(20)

    def observe() -> None:
        while not done.wait(_FRESH_INTERVAL_S):
            age_s = time.time() - table.newest_ms() / 1000
            seen.append((round(time.monotonic() - started, 2), round(age_s, 3)))

    threads = [threading.Thread(target=work) for work in (produce, observe)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        done.set()
        for thread in threads:
            thread.join()


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--outage-s", type=float, default=30.0)
    parser.add_argument("--svg", type=Path, help="write a plot of the freshness to this file")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/commits.json"))
    options = parser.parse_args()
    with own_session() as session:
        commits, fresh = run(session, options.segments, options.rows, options.outage_s)
    rows = [
        summary(way, [each for each in commits if each.way == way])
        for way in dict.fromkeys(c.way for c in commits)
    ]
    rows_fresh = fresh_summary(fresh, options.outage_s)
    show(rows)
    show(rows_fresh)
    save(options.json, {"commits": rows, "freshness": rows_fresh, "every look": fresh})
    if options.svg:
        options.svg.write_text(plot(fresh, options.outage_s))


def run(
    session: Session, segments: int, rows: int, outage_s: float
) -> tuple[list[Commit], list[tuple[float, float]]]:
    """Measure commits in turn, then freshness through an outage."""
    pinot = session.pinot
    pinot.start_hosted_servers()
    with (
        pinot.hosted_store() as store_front,
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):
        (controller,) = children_running("StartController")
        by_controller = Streamed(session, client, store, rows, peers=False)
        by_server = Streamed(session, client, store, rows, peers=True)
        commits = []
        for _ in range(segments):
            commits.append(by_controller.commit("by the controller", controller))
            commits.append(by_server.commit("by the server", controller))
        rule = store_front.hold("PUT", f"*/{by_server.name}/*", times=None)
        commits += [by_server.commit("by the server, store away", controller) for _ in range(segments)]
        rule.lift()
        live = Streamed(session, client, store, 500, peers=True)
        with freshness(live) as fresh:
            wait_for(lambda: live.count() > 0)
            time.sleep(outage_s / 2)
            rule = store_front.hold("PUT", f"*/{live.name}/*", times=None)
            time.sleep(outage_s)
            rule.lift()
            time.sleep(outage_s / 2)
        return commits, list(fresh)


def summary(way: str, commits: Sequence[Commit]) -> dict[str, object]:
    """Return the medians of one way."""
    return {
        "commits": way,
        "commit s": round(median(each.commit_s for each in commits), 2),
        "controller bytes": round(median(each.controller_bytes for each in commits)),
    }


def fresh_summary(fresh: Sequence[tuple[float, float]], outage_s: float) -> list[dict[str, object]]:
    """Return the age of the newest row before, during and after the outage."""
    end = fresh[-1][0]
    began, over = end - 1.5 * outage_s, end - 0.5 * outage_s
    parts = {
        "before": [age for at, age in fresh if at < began and age < _TIMEOUT_S],
        "store away": [age for at, age in fresh if began <= at < over],
        "after": [age for at, age in fresh if at >= over],
    }
    return [
        {"freshness": name, "median s": round(median(ages), 2), "worst s": round(max(ages), 2)}
        for name, ages in parts.items()
        if ages
    ]


def plot(fresh: Sequence[tuple[float, float]], outage_s: float) -> str:
    """Plot the age of the newest row over time as SVG, with the outage shaded."""
    wide, high, longest_s = 720, 220, 4.0
    first = next(at for at, age in fresh if age < _TIMEOUT_S)
    end = fresh[-1][0]
    across = (wide - 60) / (end - first)

    def x(at: float) -> float:
        return round(40 + (at - first) * across, 1)

    def y(age: float) -> float:
        return round(high - 30 - min(age, longest_s) * (high - 50) / longest_s, 1)

    line = " ".join(f"{x(at)},{y(age)}" for at, age in fresh if age < _TIMEOUT_S)
    began, over = x(end - 1.5 * outage_s), x(end - 0.5 * outage_s)
    marks = "".join(
        f'<text x="8" y="{y(age) + 4}">{age} s</text><path d="M36 {y(age)}H{wide - 20}" stroke="#ddd"/>'
        for age in (0, 1, 2, 3, 4)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" '
        f'font-size="11"><rect width="{wide}" height="{high}" fill="white"/>'
        f'<rect x="{began}" y="10" width="{round(over - began, 1)}" height="{high - 40}" fill="#f6dcdc"/>'
        f'<text x="{began + 6}" y="24">the store hangs</text>{marks}'
        f'<polyline points="{line}" fill="none" stroke="#2563a8" stroke-width="1.5"/>'
        f'<text x="40" y="{high - 8}">age of the newest visible row, over {end - first:.0f} s</text>'
        "</svg>\n"
    )


if __name__ == "__main__":
    main()
