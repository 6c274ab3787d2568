"""The key coordinator's state on a local disk, alone: size, memory, speed, and the time to reopen it.

First each key is added once, in batches. Then batches of random keys update them, as a version does: the
stored records of a batch are looked up and replaced.

    python -m benchmarks.upsert_state --keys 100000000 --folder /tmp/state
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import save, show
from key_coordinator.entries import Entries
from key_coordinator.state.store import KeyStore, StoredUpTo

_LOAD_BATCH = 50_000
_UPDATE_BATCHES = (2_500, 25_000)


def records_of(keys: NDArray[np.int64], first_offset: int) -> Entries:
    """Return the records of keys, with pseudo-random hashes."""
    numbers, count = keys.astype(np.uint64), len(keys)
    offsets = np.arange(first_offset, first_offset + count)
    made = Entries(
        _mixed(numbers + np.uint64(0x9E3779B97F4A7C15)),
        _mixed(numbers + np.uint64(0x1234567)),
        np.zeros(count, np.int32),
        offsets,
        offsets,
        np.zeros(count, bool),
    )
    return made.take(np.argsort(made.high, kind="stable"))


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def put(store: KeyStore, batches: Iterator[NDArray[np.int64]], name: str) -> dict[str, object]:
    """Look up and store batches of keys; return the figures."""
    now = store.up_to or StoredUpTo(1, 0)
    rows, worst_s, peak_mib = 0, 0.0, 0
    cpu_s, wall_s = time.process_time(), time.monotonic()
    for keys in batches:
        began_s = time.monotonic()
        offset = now.ends.get(0, 0)
        records = records_of(keys, offset)
        known = store.known(records)
        now = StoredUpTo(1, now.version + 1, {0: offset + len(keys)}, (), now.keys + len(keys) - len(known))
        store.put(records, now, len(keys))
        rows += len(keys)
        worst_s = max(worst_s, time.monotonic() - began_s)
        peak_mib = max(peak_mib, resident_mib())
    return {
        "what": name,
        "rows": rows,
        "CPU us/row": round((time.process_time() - cpu_s) / rows * 1e6, 2),
        "rows/s": round(rows / (time.monotonic() - wall_s)),
        "worst batch ms": round(worst_s * 1000),
        "keys": now.keys,
        "memory MiB": peak_mib,
    }


def resident_mib() -> int:
    """Return the memory of this process, including mapped pages of the state's files."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() >> 20


def run(keys: int, updates: int, folder: Path) -> dict[str, list[dict[str, object]]]:
    """Load, update, close and reopen the state; return tables of the figures."""
    random = np.random.default_rng(1)
    store = KeyStore(folder)
    rows = [
        put(store, (np.arange(a, min(a + _LOAD_BATCH, keys)) for a in range(0, keys, _LOAD_BATCH)), "load")
    ]
    for batch in _UPDATE_BATCHES:
        batches = (np.unique(random.integers(0, keys, batch)) for _ in range(updates // batch))
        rows.append(put(store, batches, f"updates of {batch:,}"))
    began_s = time.monotonic()
    store.close()
    closed_s = time.monotonic() - began_s
    size = sum(path.stat().st_size for path in folder.iterdir())
    began_s = time.monotonic()
    reopened = KeyStore(folder)
    opened_s = time.monotonic() - began_s
    found = reopened.known(records_of(np.arange(keys - 1_000, keys), 0))
    assert len(found) == 1_000
    reopened.close()
    disk: dict[str, object] = {
        "close s": round(closed_s, 2),
        "open s": round(opened_s, 3),
        "bytes/key": round(size / keys, 1),
    }
    return {"steps": rows, "disk": [disk]}


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--updates", type=int, default=1_000_000, help="rows for each batch size")
    parser.add_argument(
        "--folder", type=Path, help="where to make the folder state, anew; default: temporary"
    )
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/upsert_state.json"))
    arguments = parser.parse_args()
    with ExitStack() as at_end:
        folder = arguments.folder or Path(at_end.enter_context(tempfile.TemporaryDirectory()))
        shutil.rmtree(folder / "state", ignore_errors=True)
        results = run(arguments.keys, arguments.updates, folder / "state")
        shutil.rmtree(folder / "state")
    for rows in results.values():
        show(rows)
    save(arguments.json, {"keys": arguments.keys, "updates": arguments.updates, **results})


if __name__ == "__main__":
    main()
