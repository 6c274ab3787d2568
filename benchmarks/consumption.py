"""How long a pause takes until consumption has stopped, and a resume until queries see the first new row.

    python -m benchmarks.consumption --partitions 1 8 64 --rounds 3

Three ways are measured in turn on the same table, while rows are produced into every partition continuously:

* ``pinotctl consumption pause`` and ``resume`` (what these commands call),
* Pinot's bare endpoints, polled until they report that no segment consumes,
* pausing all partitions with ``pausedPartitions``, on two servers hosted in Python.

``rows after`` counts the rows that become visible after the pause was reported as complete.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import requests
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # public by its docs

from benchmarks.tables import save, show
from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.consumption import TableControl
from controller_client.consumption.partitions import pause_partitions, resume_partitions
from controller_client.consumption.pauses.pausing import pause
from controller_client.consumption.pauses.resuming import resume
from controller_client.errors import QueryError
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.support.kafka import Kafka
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.session import Session, own_session

_POLL_S = 0.02
_LATE_ROWS_S = 3.0
_TIMEOUT_S = 300.0
_ROWS_PER_S = 20


@dataclass(frozen=True)
class Way:
    """A way to pause and resume; both functions return when the way reports that it is done."""

    name: str
    pause: Callable[[], None]
    resume: Callable[[], None]


@dataclass(frozen=True)
class Turn:
    """The times of one pause and resume."""

    way: str
    partitions: int
    pause_s: float
    rows_after: int
    first_row_s: float


class Bench:
    """One table, and a producer of rows for it."""

    def __init__(
        self, session: Session, client: ControllerClient, store: PropertyStore, partitions: int
    ) -> None:
        self.client = client
        self.store = store
        self.broker: BrokerClient = session.pinot.broker()
        self.controller_url = session.pinot.controller_url
        self.partitions = partitions
        self.name = f"bench_{partitions}_{int(time.time())}"
        self.table = TableName(f"{self.name}_REALTIME")
        self.kafka: Kafka = session.kafka

    def create(self) -> None:
        """Create the topic and the table."""
        admin = AdminClient({"bootstrap.servers": self.kafka.bootstrap})
        for future in admin.create_topics([NewTopic(self.name, self.partitions, 1)]).values():
            future.result(60)
        self.client.schemas.create(Schema.from_json(realtime_schema(self.name, {})))
        config = realtime_table(self.name, self.kafka, rows_per_segment=50_000, tenant=HOSTED_TENANT)
        self.client.tables.create(TableConfig.from_json(config))

    @contextmanager
    def rows(self) -> Iterator[None]:
        """Produce rows into all partitions until the with statement ends."""
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "linger.ms": 5})
        done = threading.Event()

        def produce() -> None:
            while not done.wait(1 / _ROWS_PER_S):
                now = json.dumps({"ts": round(time.time() * 1000)}).encode()
                for partition in range(self.partitions):
                    producer.produce(self.name, now, partition=partition)
                producer.poll(0)

        thread = threading.Thread(target=produce)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            producer.flush(60)

    def count(self) -> int:
        """Return the number of rows that queries see."""
        try:
            return int(self.broker.query(f"select count(*) from {self.name}").scalar() or 0)
        except QueryError:
            return 0  # no segment is served yet

    def wait_for_more_than(self, rows: int) -> None:
        """Wait until queries see more than this number of rows."""
        deadline = time.monotonic() + _TIMEOUT_S
        while self.count() <= rows:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name}: no new row within {_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)

    def ways(self) -> Sequence[Way]:
        """Return the ways to compare."""
        control = TableControl(self.client, self.store, self.table)
        everything = range(self.partitions)
        return (
            Way("consumption pause", lambda: void(pause(control)), lambda: void(resume(control))),
            Way("bare endpoints", self._bare_pause, lambda: self._post("resumeConsumption")),
            Way(
                "all partitions paused",
                lambda: void(pause_partitions(control, everything)),
                lambda: void(resume_partitions(control, everything)),
            ),
        )

    def turn(self, way: Way) -> Turn:
        """Pause and resume once."""
        self.wait_for_more_than(self.count())
        started = time.monotonic()
        way.pause()
        paused_s = time.monotonic() - started
        at_pause = self.count()
        time.sleep(_LATE_ROWS_S)
        later = self.count()
        started = time.monotonic()
        way.resume()
        self.wait_for_more_than(later)
        first_s = time.monotonic() - started
        return Turn(way.name, self.partitions, paused_s, later - at_pause, first_s)

    def drop(self) -> None:
        """Delete the table."""
        self.client.tables.delete(self.table)
        self.client.schemas.delete(self.name)
        self.broker.close()

    def _bare_pause(self) -> None:
        self._post("pauseConsumption")
        deadline = time.monotonic() + _TIMEOUT_S
        url = f"{self.controller_url}/tables/{self.name}/pauseStatus"
        while requests.get(url, timeout=60).json()["consumingSegments"]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name}: Pinot did not finish the pause within {_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)

    def _post(self, call: str) -> None:
        requests.post(f"{self.controller_url}/tables/{self.name}/{call}", timeout=60).raise_for_status()


def void(_result: object) -> None:
    """Discard a result."""


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/consumption.json"))
    options = parser.parse_args()
    with own_session() as session:
        turns = run(session, options.partitions, options.rounds)
    rows = summary(turns)
    show(rows)
    save(options.json, {"rounds": options.rounds, "results": rows, "turns": [vars(turn) for turn in turns]})


def run(session: Session, partitions: Sequence[int], rounds: int) -> list[Turn]:
    """Measure each number of partitions."""
    pinot = session.pinot
    pinot.start_hosted_servers()
    turns = []
    with pinot.client() as client, PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        for number in partitions:
            bench = Bench(session, client, store, number)
            bench.create()
            with bench.rows():
                bench.wait_for_more_than(0)
                turns += [bench.turn(way) for _ in range(rounds) for way in bench.ways()]
            bench.drop()
    return turns


def summary(turns: Sequence[Turn]) -> list[dict[str, object]]:
    """Return the medians by way and number of partitions."""
    rows = []
    for partitions, way in dict.fromkeys((turn.partitions, turn.way) for turn in turns):
        own = [turn for turn in turns if (turn.partitions, turn.way) == (partitions, way)]
        rows.append(
            {
                "partitions": partitions,
                "way": way,
                "paused after s": round(median(turn.pause_s for turn in own), 2),
                "longest s": round(max(turn.pause_s for turn in own), 2),
                "rows after": max(turn.rows_after for turn in own),
                "first new row after s": round(median(turn.first_row_s for turn in own), 2),
            }
        )
    return rows


if __name__ == "__main__":
    main()
