"""The cost of consistent push: a retry, the switch of many segments, a session with very many files.

- ``retry``: some of many files fail, and the next run reads only these. For comparison, the same files are
  ingested alone into a separate table.
- ``switch``: 1,000 segments from one file each, pushed one at a time, and in batches; how long the lineage
  entry is open.
- ``rollback``: 1,000 segments are replaced by 1,000 others, which are kept, and the table returns to them.
- ``scale``: 100,000 small files, some of which fail: plan, run, retry, switch; the largest znode of the
  session, and the memory of the process that runs the task.

All runs are ``pinotctl task`` on a local cluster with one Python-hosted minion.

    python -m benchmarks.sessions --parts retry switch rollback scale
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.tables import save, show
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.models import Schema, TableConfig
from controller_client.publishing.pushing import PushMode
from controller_client.zookeeper import PropertyStore
from jvm_bridge.local_cluster import ClusterPorts, LocalCluster
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.session.store import sessions_path
from tests.support.offline_tables import offline_table

_BAD = "id,amount\nnot a number,1\n"


@dataclass(frozen=True)
class TaskRun:
    """One ``pinotctl task run`` or ``rollback``."""

    code: int
    report: dict[str, Any]
    seconds: float
    peak_mib: float


@dataclass(frozen=True)
class Bench:
    """The clients and the folder that all parts share."""

    client: ControllerClient
    store: PropertyStore
    controller_url: str
    folder: Path

    def table(self, name: str, **configs: str) -> str:
        """Create a table with the task; its source is the folder with the same name."""
        fields = [{"name": "id", "dataType": "INT"}, {"name": "amount", "dataType": "DOUBLE"}]
        self.client.schemas.create(Schema.from_json({"schemaName": name, "dimensionFieldSpecs": fields}))
        self.client.tables.create(TableConfig.from_json(offline_table(name)))
        source = self.folder / name
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)
        self.client.tables.set_task_config(
            f"{name}_OFFLINE",
            TASK_TYPE,
            {
                "inputDirURI": f"file://{source}",
                "inputFormat": "csv",
                "consistentPushEnabled": "true",
                "consistentPushMaxRetries": "3",
                **configs,
            },
        )
        return name

    def write(self, table: str, numbers: Sequence[int], rows: int) -> None:
        """Write one file per number."""
        for number in numbers:
            lines = (f"{number * rows + row},{row / 4}\n" for row in range(rows))
            self.path(table, number).write_text("id,amount\n" + "".join(lines))

    def corrupt(self, table: str, numbers: Sequence[int]) -> None:
        """Write files that fail to parse."""
        for number in numbers:
            self.path(table, number).write_text(_BAD)

    def path(self, table: str, number: int) -> Path:
        """Return the path of a file; create its folder."""
        folder = self.folder / table / f"{number // 1000:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{number:06d}.csv"

    def run(self, table: str) -> TaskRun:
        """Run the task and measure the peak memory of its process."""
        return self.pinotctl("run", table)

    def pinotctl(self, *words: str) -> TaskRun:
        """Run ``pinotctl task``, as above."""
        command = [
            str(Path(sys.executable).with_name("pinotctl")),
            *("--controller", self.controller_url, "task", *words, "--output", "json"),
        ]
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        peak = 0
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                peak = max(peak, watched.memory_info().rss)
            except psutil.NoSuchProcess:
                break
            time.sleep(0.2)
        out, _ = process.communicate()
        seconds = time.monotonic() - started
        report = json.loads(out) if process.returncode == 0 else {}
        return TaskRun(process.returncode, report, seconds, peak / 2**20)

    def largest_znode(self, table: str) -> int:
        """Return the size of the largest znode of the table's last session in bytes."""
        root = sessions_path(TableName(f"{table}_OFFLINE"))
        session = f"{root}/{self.store.children(root)[-1]}"
        sizes = [0]
        for part in ("groups", "from"):
            for name in self.store.children(f"{session}/{part}"):
                found = self.store.get(f"{session}/{part}/{name}")
                if found is not None:
                    sizes.append(len(found.record.to_bytes()))
        return max(sizes)


def retry(bench: Bench, arguments: argparse.Namespace) -> dict[str, object]:
    """Compare a retry with the ingestion of the failed files alone."""
    files, failing, rows = arguments.retry_files, arguments.retry_failing, arguments.retry_rows
    bad = range(0, files, files // failing)
    alone = bench.table("retry_alone", desiredSegmentSize="1")
    bench.write(alone, bad, rows)
    bench.run(alone)  # warm-up: Java compiles the minion's code before anything is timed
    table = bench.table("retry_all", desiredSegmentSize="1")
    bench.write(table, range(files), rows)
    bench.corrupt(table, bad)
    failed = bench.run(table)
    assert failed.code == 1, "the first run should have failed"
    bench.write(table, bad, rows)
    retried = bench.run(table)
    for number in bad:  # the same rows under new names
        bench.path(alone, number).rename(bench.path(alone, number + files))
    by_itself = bench.run(alone)
    whole, part = float(retried.report["staging_s"]), float(by_itself.report["staging_s"])
    return {
        "part": "retry",
        "files": files,
        "failed": len(bad),
        "first run s": round(failed.seconds, 1),
        "retry: staging s": round(whole, 2),
        "these files alone: staging s": round(part, 2),
        "ratio": round(whole / part, 2),
    }


def switch(bench: Bench, arguments: argparse.Namespace) -> dict[str, object]:
    """Switch many segments in each push mode for metadata, and measure how long the lineage entry is open."""
    figures: dict[str, object] = {"part": "switch", "segments": arguments.switch_segments}
    for mode in (PushMode.METADATA, PushMode.BATCH):
        table = bench.table(f"switch_{mode.lower()}", **{"enableSync": "true", "push.mode": mode})
        bench.write(table, range(arguments.switch_segments), 10)
        ran = bench.run(table)
        assert ran.code == 0, "the run failed"
        assert ran.report["segments"] == arguments.switch_segments
        figures[f"{mode}: staging s"] = ran.report["staging_s"]
        figures[f"{mode}: switch s (entry open)"] = ran.report["switch_s"]
        figures["largest znode bytes"] = bench.largest_znode(table)
    return figures


def rollback(bench: Bench, arguments: argparse.Namespace) -> dict[str, object]:
    """Replace many segments, return to them, and measure how long that takes."""
    table = bench.table("roll_back", enableSync="true", keepVersions="3")
    bench.write(table, range(arguments.switch_segments), 10)
    first = bench.run(table)
    bench.write(table, range(arguments.switch_segments), 11)
    second = bench.run(table)
    assert second.report["replaced_segments"] == arguments.switch_segments
    back = bench.pinotctl("rollback", table, "--to", first.report["session"], "--yes")
    assert back.report["rows"] == first.report["rows"]
    return {
        "part": "rollback",
        "segments": back.report["segments"],
        "first run s": round(first.seconds, 1),
        "run that keeps what it replaces s": round(second.seconds, 1),
        "rollback s": round(back.seconds, 1),
        "its switch s": back.report["switch_s"],
    }


def scale(bench: Bench, arguments: argparse.Namespace) -> dict[str, object]:
    """Ingest very many files, with a failure, a retry and the switch."""
    files = arguments.scale_files
    few = bench.table("scale_few")
    bench.write(few, range(100), 10)
    small = bench.run(few)
    table = bench.table("scale_many", tableMaxNumTasks="100")
    bench.write(table, range(files), 10)
    bad = range(0, files, files // 20)
    bench.corrupt(table, bad)
    failed = bench.run(table)
    assert failed.code == 1, "the first run should have failed"
    bench.write(table, bad, 10)
    retried = bench.run(table)
    assert retried.code == 0, "the retry failed"
    assert retried.report["files"] == files
    return {
        "part": "scale",
        "files": files,
        "segments": retried.report["segments"],
        "rows": retried.report["rows"],
        "first run s": round(failed.seconds, 1),
        "retry s": round(retried.seconds, 1),
        "switch s": retried.report["switch_s"],
        "largest znode bytes": bench.largest_znode(table),
        "peak MiB, 100 files": round(small.peak_mib),
        "peak MiB": round(max(failed.peak_mib, retried.peak_mib)),
        "bytes per file": round((max(failed.peak_mib, retried.peak_mib) - small.peak_mib) * 2**20 / files),
    }


PARTS: dict[str, Callable[[Bench, argparse.Namespace], dict[str, object]]] = {
    "retry": retry,
    "switch": switch,
    "rollback": rollback,
    "scale": scale,
}


def main() -> None:
    """Run the chosen parts, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--retry-files", type=int, default=60)
    parser.add_argument("--retry-failing", type=int, default=15)
    parser.add_argument("--retry-rows", type=int, default=400_000)
    parser.add_argument("--switch-segments", type=int, default=1000)
    parser.add_argument("--scale-files", type=int, default=100_000)
    parser.add_argument("--dir", type=Path, default=Path(".work/benchmark-sessions"))
    parser.add_argument("--port-base", type=int, default=21900)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/sessions.json"))
    arguments = parser.parse_args()
    folder = arguments.dir.absolute()
    cluster = LocalCluster(folder / "cluster", ClusterPorts.from_base(arguments.port_base))
    cluster.up()
    rows = []
    try:
        with (
            ControllerClient(ControllerConfig(cluster.controller_url)) as client,
            PropertyStore(cluster.zookeeper_address, cluster.cluster_name) as store,
        ):
            bench = Bench(client, store, cluster.controller_url, folder)
            for part in arguments.parts:
                rows.append(PARTS[part](bench, arguments))
                show([rows[-1]])
    finally:
        cluster.down(purge=True)
    save(arguments.json, {"results": rows})


if __name__ == "__main__":
    main()
