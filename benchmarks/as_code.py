"""Cluster as code with many tables: seconds, CPU seconds and requests of each command.

python -m benchmarks.as_code
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from benchmarks.local_cluster import open_cluster
from benchmarks.tables import save, show
from controller_client.as_code import (
    Applier,
    Kind,
    ObjectRef,
    References,
    export_cluster,
    find_drift,
    read_folder,
)
from controller_client.as_code.files import FolderSettings, write_folder
from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.zookeeper import PropertyStore
from tests.support.offline_tables import offline_table

_COLUMNS = 20


class _Measurements:
    """Measures functions: the time and the requests of each, made by a client of its own."""

    def __init__(self, controller_url: str) -> None:
        self._url = controller_url
        self._lock = threading.Lock()
        self._requests = 0
        self.rows: list[dict[str, object]] = []

    def run(self, name: str, function: Callable[[ControllerClient], Any]) -> Any:
        """Run a function and record its time and requests."""
        self._requests = 0
        with requests.Session() as session:
            session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=16))
            session.hooks["response"].append(self._count)
            with ControllerClient(ControllerConfig(self._url), session=session) as client:
                began_s, cpu_s = time.monotonic(), time.process_time()
                result = function(client)
                took_s, cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
        self.rows.append(
            {
                "what": name,
                "seconds": round(took_s, 2),
                "cpu_seconds": round(cpu_s, 2),
                "requests": self._requests,
            }
        )
        return result

    def _count(self, response: requests.Response, *_args: Any, **_named: Any) -> requests.Response:
        with self._lock:
            self._requests += 1
        return response


def documents(tables: int) -> dict[ObjectRef, dict[str, Any]]:
    """Return tables and schemas as a user writes them, without the defaults that Pinot adds."""
    objects: dict[ObjectRef, dict[str, Any]] = {}
    for number in range(tables):
        name = f"table_{number}"
        columns = [{"name": f"column_{each}", "dataType": "STRING"} for each in range(_COLUMNS)]
        objects[ObjectRef(Kind.SCHEMA, name)] = {"schemaName": name, "dimensionFieldSpecs": columns}
        indexing = {"invertedIndexColumns": ["column_1", "column_2"], "noDictionaryColumns": ["column_3"]}
        config = offline_table(name, indexing=indexing)
        objects[ObjectRef(Kind.TABLE, f"{name}_OFFLINE")] = config
    return objects


def main() -> None:
    """Measure all commands, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--port-base", type=int, default=22200)
    parser.add_argument("--out", type=Path, default=Path("bench-out/as-code.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, open_cluster(Path(name), arguments.port_base) as cluster:
        written, exported = Path(name) / "written", Path(name) / "exported"
        wanted = documents(arguments.tables)
        write_folder(written, FolderSettings(owner="benchmark"), wanted)
        zookeeper = cluster.client.cluster.zookeeper_address()
        assert zookeeper is not None
        measure = _Measurements(cluster.local.controller_url)
        with PropertyStore(zookeeper, cluster.client.cluster.name()) as store:

            def applier(client: ControllerClient, folder: Path) -> Applier:
                return Applier(client, store, read_folder(folder), References({}, folder))

            plan = measure.run("diff: all tables new", lambda client: applier(client, written).plan().plan)
            measure.run("apply: all tables", lambda client: applier(client, written).apply(plan))
            measure.run("export", lambda client: export_cluster(client, exported))
            same = measure.run(
                "diff: files as exported", lambda client: applier(client, exported).plan().plan
            )
            assert not same.steps
            same = measure.run(
                "diff: files as written by hand", lambda client: applier(client, written).plan().plan
            )
            assert not same.steps
            drifted = measure.run("drift", lambda client: find_drift(client, store, read_folder(written)))
            assert not drifted
            for number in range(10):
                document = wanted[ObjectRef(Kind.TABLE, f"table_{number}_OFFLINE")]
                document["query"] = {"timeoutMs": 1000}
            write_folder(written, FolderSettings(owner="benchmark"), wanted)
            plan = measure.run("diff: ten changes", lambda client: applier(client, written).plan().plan)
            assert len(plan.steps) == 10
            measure.run("apply: ten changes", lambda client: applier(client, written).apply(plan))
    show(measure.rows)
    save(arguments.out, {"tables": arguments.tables, "results": measure.rows})


if __name__ == "__main__":
    main()
