"""The fixed cost of a run of FileIngestionTask: a file of 1,000 rows, phase by phase.

The first run starts as soon as the minion has joined the cluster, while it is still loading classes; the
others start later. Each run has its own table.

    python -m benchmarks.fixed_cost --repeat 5
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.tables import save, show
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE

_ROWS = 1_000
_SETTLED_S = 15
_PINOTCTL = str(Path(sys.executable).with_name("pinotctl"))


def run_once(cluster: BenchmarkCluster, name: str, rows: pa.Table, folder: Path) -> dict[str, float]:
    """Ingest the file into a new table; return the seconds of the whole command and of its parts."""
    table = cluster.create_table(name, rows.schema)
    configs = {"inputDirURI": f"file://{folder}", "inputFormat": "parquet", "consistentPushEnabled": "true"}
    cluster.client.tables.set_task_config(f"{table}_OFFLINE", TASK_TYPE, configs)
    command = [_PINOTCTL, "--controller", cluster.local.controller_url, "task", "run", table]
    started = time.monotonic()
    done = subprocess.run(
        [*command, "--output", "json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    whole_s = time.monotonic() - started
    cluster.wait_rows(table, _ROWS)
    cluster.drop(table)
    report = json.loads(done.stdout)
    return {
        "whole_s": whole_s,
        "start_and_plan_s": whole_s - report["staging_s"] - report["switch_s"],
        "staging_s": report["staging_s"],
        "switch_s": report["switch_s"],
    }


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark-fixed"))
    parser.add_argument("--port-base", type=int, default=22000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/fixed_cost.json"))
    arguments = parser.parse_args()

    folder = arguments.dir.absolute() / "files"
    folder.mkdir(parents=True, exist_ok=True)
    rows = pa.table({"number": pa.array(range(_ROWS), pa.int64()), "word": ["a word"] * _ROWS})
    pq.write_table(rows, folder / "rows.parquet")
    with open_cluster(arguments.dir.absolute(), arguments.port_base) as cluster:
        first = run_once(cluster, "first", rows, folder)
        time.sleep(_SETTLED_S)
        later = [run_once(cluster, f"later_{number}", rows, folder) for number in range(arguments.repeat)]
    runs = [first, {key: median(run[key] for run in later) for key in first}]
    show(
        [
            {"run": name, **{key: round(value, 2) for key, value in run.items()}}
            for name, run in zip(("first", "later, median"), runs, strict=True)
        ]
    )
    save(arguments.json, {"first": first, "later": later})


if __name__ == "__main__":
    main()
