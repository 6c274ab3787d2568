"""What the commit of a segment costs with the deep store in its way, and without.

    python -m benchmarks.commits --segments 5 --rows 200000

Two tables on two servers hosted in Python, the same rows, in turns, a segment at a time:

* ``by the controller``: Pinot's default; the committing server sends the segment to the controller, which
  uploads it,
* ``by the server``: peer download and the hook ``commit-upload``; the server uploads, the controller gets
metadata.

``commit s`` runs from the moment when the segment has its last row to the moment when its record shows that
it is committed. ``controller bytes`` is what the controller's process read and wrote meanwhile. ``store
away`` is the same with a store that hangs. Freshness: every 200 ms a row with the time is produced; how old
is the newest one that a query sees, before, while the store hangs, and after.
"""

from __future__ import annotations

import argparse
import tempfile
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
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.session import Session

_T = TypeVar("_T")

_POLL_S = 0.01
_TIMEOUT_S = 300.0
_FRESH_INTERVAL_S = 0.2


@dataclass(frozen=True)
class Commit:
    """One segment's commit."""

    way: str
    commit_s: float
    controller_bytes: int


class Streamed:
    """A table of one partition, that commits a given number of rows at a time."""

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
        """The consuming segment; the ideal state may still name the one that was committed last."""

        def found() -> str | None:
            names = read_ideal_state(self.store, self.table).consuming
            return next((name for name in names if not self._is_committed(name)), None)

        return wait_for(found)

    def count(self) -> int:
        """Rows that queries see."""
        try:
            return int(self.broker.query(f"select count(*) from {self.name}").scalar() or 0)
        except QueryError:
            return 0

    def newest_ms(self) -> float:
        """The time in the newest row that queries see."""
        try:
            return float(self.broker.query(f"select max(ts) from {self.name}").scalar() or 0)
        except QueryError:
            return 0

    def produce(self, count: int) -> None:
        """Rows of some 200 bytes that do not compress well."""
        now = round(time.time() * 1000)
        self.topic.produce({0: ({"text": uuid.uuid4().hex * 6, "ts": now} for _ in range(count))})

    def commit(self, way: str, controller: psutil.Process) -> Commit:
        """Fill a segment but for a row, then produce that row."""
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
    """Bytes that a process has read and written, sockets included."""
    io = process.io_counters()
    return int(io.read_chars + io.write_chars)


def wait_for(look: Callable[[], _T | None]) -> _T:
    """Ask until the answer is true."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"it did not come in {_TIMEOUT_S:.0f} s")
        time.sleep(_POLL_S)
    return found


@contextmanager
def freshness(table: Streamed) -> Iterator[list[tuple[float, float]]]:
    """Produce a row every so often; collects (seconds since the start, age in s of the newest row seen)."""
    seen: list[tuple[float, float]] = []
    done = threading.Event()
    started = time.monotonic()

    def produce() -> None:
        while not done.wait(_FRESH_INTERVAL_S):
            table.produce(20)

    def look() -> None:
        while not done.wait(_FRESH_INTERVAL_S):
            age_s = time.time() - table.newest_ms() / 1000
            seen.append((round(time.monotonic() - started, 2), round(age_s, 3)))

    threads = [threading.Thread(target=work) for work in (produce, look)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        done.set()
        for thread in threads:
            thread.join()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--outage-s", type=float, default=30.0)
    parser.add_argument("--svg", type=Path, help="where to draw the freshness")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/commits.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        try:
            commits, fresh = run(session, options.segments, options.rows, options.outage_s)
        finally:
            session.close()
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
    """Commits in turns, then freshness through an outage."""
    pinot = session.pinot
    pinot.start_hosted_servers()
    store_front = pinot.hosted_store
    with pinot.client() as client, PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        controller = next(
            process
            for process in psutil.Process().children(recursive=True)
            if "StartController" in " ".join(process.cmdline())
        )
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
    """Medians."""
    return {
        "commits": way,
        "commit s": round(median(each.commit_s for each in commits), 2),
        "controller bytes": round(median(each.controller_bytes for each in commits)),
    }


def fresh_summary(fresh: Sequence[tuple[float, float]], outage_s: float) -> list[dict[str, object]]:
    """Ages of the newest row before, within and after the outage."""
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
    """Draw the age of the newest row over time, the outage shaded, as SVG."""
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
        f'<text x="40" y="{high - 8}">age of the newest row that is seen, over {end - first:.0f} s</text>'
        "</svg>\n"
    )


if __name__ == "__main__":
    main()
