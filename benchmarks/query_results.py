"""Reading a result of a million rows into pandas: this project, pinotdb and clickhouse-connect.

    python -m benchmarks.query_results --contenders /path/to/venv/bin/python

The contenders' environment needs: ``pip install pinotdb clickhouse-connect chdb pandas==2.3.3 pyarrow``.
The same rows are a table of a local Pinot and of ClickHouse's engine (chdb). Each engine runs the query once;
a small HTTP server on the loopback interface then sends its response to the clients, so that only the clients
are measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import requests

from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.tables import save, show
from controller_client.models import Schema, TableConfig
from jvm_bridge.builder import SegmentBuilder
from jvm_bridge.jvm import start_jvm
from tests.support.offline_tables import offline_table
from tests.support.wait import wait_for

ROWS = 1_000_000
_SEGMENTS = 2
_TIMEOUT_S = 300
_NUMBERS = ("seconds", "cpu_seconds", "peak_mib")
_SQL = "select id, n, x, flag, city, note, ts, amount from results"
_TYPES = {
    "id": "INT",
    "n": "LONG",
    "x": "DOUBLE",
    "flag": "BOOLEAN",
    "city": "STRING",
    "note": "STRING",
    "ts": "TIMESTAMP",
    "amount": "BIG_DECIMAL",
}


def rows() -> pa.Table:
    """Return the rows; ``amount`` has 20 digits."""
    random = np.random.default_rng(1)
    ids = np.arange(ROWS, dtype=np.int32)
    cents = random.integers(0, 10**9, ROWS)
    return pa.table(
        {
            "id": ids,
            "n": random.integers(-(2**62), 2**62, ROWS),
            "x": random.random(ROWS),
            "flag": random.random(ROWS) < 0.5,
            "city": [f"city {number}" for number in random.integers(0, 1000, ROWS)],
            "note": [f"note {number} of the day" for number in ids],
            "ts": pa.array(1_700_000_000_000 + random.integers(0, 10**9, ROWS), pa.timestamp("ms")),
            "amount": [f"12345678901{number:09d}.25" for number in cents],
        }
    )


def load(cluster: BenchmarkCluster, data: pa.Table, folder: Path) -> None:
    """Create and fill Pinot's table."""
    fields = [{"name": name, "dataType": kind} for name, kind in _TYPES.items()]
    schema = {
        "schemaName": "results",
        "dimensionFieldSpecs": fields[:6],
        "dateTimeFieldSpecs": [
            {**fields[6], "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        ],
        "metricFieldSpecs": fields[7:],
    }
    table = offline_table("results", indexing={"noDictionaryColumns": ["amount", "note", "x", "n"]})
    cluster.client.schemas.create(Schema.from_json(schema))
    cluster.client.tables.create(TableConfig.from_json(table))
    builder = SegmentBuilder(table, schema, folder)
    size = ROWS // _SEGMENTS
    for number in range(_SEGMENTS):
        built = builder.from_arrow(data.slice(number * size, size), f"results_{number}")
        cluster.client.segments.upload_tar("results_OFFLINE", built.tar_path)
    cluster.wait_rows("results", ROWS)


def record(url: str, folder: Path) -> float:
    """Store Pinot's responses in files; return the seconds that the large one took."""
    folder.mkdir()
    for limit in (1000, ROWS):
        began_s = time.monotonic()
        options = f"timeoutMs={_TIMEOUT_S * 1000}"
        request = {"sql": f"{_SQL} limit {limit}", "queryOptions": options}
        answer = requests.post(f"{url}/query/sql", json=request, timeout=_TIMEOUT_S)
        assert len(answer.json()["resultTable"]["rows"]) == limit, answer.text[:1000]
        took_s = time.monotonic() - began_s
        (folder / f"{limit}.json").write_bytes(answer.content)
    return took_s


@contextmanager
def serving(python: Path | str, program: str, source: Path, port: int) -> Iterator[str]:
    """Serve answers."""
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([python, Path(__file__).with_name(program), source, str(port)])

    def answers() -> bool:
        try:
            return requests.get(url, params={"query": "select 1"}, timeout=60).text == "1\n"
        except requests.ConnectionError:
            return False

    try:
        wait_for(answers, f"the server of {source}")
        yield url
    finally:
        server.kill()
        server.wait()


def measured(python: Path | str, client: str, url: str, repeat: int) -> dict[str, Any]:
    """Run a client a number of times, each in a separate process; return the medians."""
    program = Path(__file__).with_name("query_results_program.py")
    found = []
    for _ in range(repeat):
        done = subprocess.run(
            [python, program, client, url, _SQL], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    numbers = {
        name: statistics.median(each[name] for each in found)
        for name in ("seconds", "cpu_seconds", "peak_mib")
    }
    return {**found[-1], **numbers}


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--contenders", type=Path, required=True, help="the Python that has the other clients"
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--port-base", type=int, default=22100)
    parser.add_argument("--out", type=Path, default=Path("bench-out/query-results.json"))
    arguments = parser.parse_args()
    start_jvm(max_heap_mb=1024)
    # The default heaps of a local cluster are too small for this result.
    os.environ["_JAVA_OPTIONS"] = "-Xmx2g"
    data = rows()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_cluster(folder, arguments.port_base) as cluster:
            load(cluster, data, folder)
            pinot_s = record(cluster.local.broker_url, folder / "answers")
        file = folder / "results.parquet"
        pq.write_table(data.set_column(7, "amount", data["amount"].cast(pa.decimal128(38, 2))), file)
        others, base = arguments.contenders, arguments.port_base
        with (
            serving(sys.executable, "query_results_replay.py", folder / "answers", base + 50) as pinot,
            serving(others, "query_results_server.py", file, base + 51) as clickhouse,
        ):
            order = [
                (sys.executable, "bytes alone", pinot),
                (sys.executable, "pinot-plugins to_pandas", pinot),
                (sys.executable, "pinot-plugins to_arrow", pinot),
                (sys.executable, "pinot-plugins rows", pinot),
                (others, "pinotdb", pinot),
                (others, "clickhouse-connect", clickhouse),
            ]
            results = {
                client: measured(python, client, url, arguments.repeat) for python, client, url in order
            }
    show([{"client": client, **{key: one[key] for key in _NUMBERS}} for client, one in results.items()])
    types = {client: one["types"] for client, one in results.items() if "types" in one}
    show(
        [
            {
                "column": column,
                "pinot": kind,
                **{client: each[column] for client, each in types.items()},
            }
            for column, kind in _TYPES.items()
        ]
    )
    print(f"Pinot itself took {pinot_s:.1f} s")
    save(arguments.out, {"rows": ROWS, "pinot_seconds": round(pinot_s, 1), "results": results})


if __name__ == "__main__":
    main()
