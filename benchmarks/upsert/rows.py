"""How fast rows come to the tables of :mod:`benchmarks.upsert`, how soon they are seen, what that takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import psutil
from confluent_kafka import Message
from numpy.typing import NDArray

from benchmarks.upsert.contenders import Contender, Look
from benchmarks.upsert.feed import running

_CATCH_UP_PAUSE_S = 0.5


def catch_up(table: Contender, rows: int, timeout_s: float) -> dict[str, object]:
    """Make a table of rows that are in Kafka, and wait until a query sees all."""
    table.feed.write(rows)
    table.feed.flush()
    started = time.time()
    table.create()
    with _processor(table) as used_s:
        looks = watch(table, 0, None, _CATCH_UP_PAUSE_S, timeout_s)
    seen = table.ends(looks).sum(axis=1)
    first, last = int(np.flatnonzero(seen)[0]), len(looks) - 1
    rate = rows / (looks[last].at_s - started)
    begun = (seen[last] - seen[first]) / (looks[last].at_s - looks[first].at_s) if first < last else rate
    return {
        "table": table.name,
        "seconds": round(looks[last].at_s - started, 1),
        "rows/s": round(rate),
        "first rows after s": round(looks[first].at_s - started, 1),
        "rows/s once begun": round(begun),
        "sealed segments": table.sealed(),
        **_a_row(used_s, rows),
    }


def fill(table: Contender, rows: int, timeout_s: float) -> None:
    """Write until there are so many rows, and wait until a query sees all."""
    if table.feed.sent < rows:
        table.feed.write(rows - table.feed.sent)
        table.feed.flush()
        watch(table, 0, None, _CATCH_UP_PAUSE_S, timeout_s)


def freshness(
    table: Contender, rate: int, seconds: float, pause_s: float, timeout_s: float
) -> dict[str, object]:
    """Write rows at a steady rate, and measure how long each is not seen."""
    acknowledged: list[tuple[int, int, float]] = []

    def delivered(fault: object, message: Message) -> None:
        assert fault is None, fault
        acknowledged.append((message.partition() or 0, message.offset() or 0, time.time()))

    since_ms, sealed = table.feed.now_ms(), table.sealed()
    with _processor(table) as used_s, running(lambda: table.feed.steady(rate, seconds, delivered)) as done:
        looks = watch(table, since_ms, done, pause_s, timeout_s)
    delays = ages(np.array(acknowledged), looks, table.ends(looks))
    took_s = acknowledged[-1][2] - acknowledged[0][2]
    return {
        "table": table.name,
        "asked rows/s": rate,
        "rows": len(delays),
        "produced rows/s": round(len(delays) / took_s),
        "looks": len(looks),
        "sealed segments": table.sealed() - sealed,
        "p50 s": round(float(np.quantile(delays, 0.5)), 2),
        "p99 s": round(float(np.quantile(delays, 0.99)), 2),
        "worst s": round(float(delays.max()), 2),
        **_a_row(used_s, len(delays)),
    }


def watch(
    table: Contender, since_ms: int, done: threading.Event | None, pause_s: float, timeout_s: float
) -> list[Look]:
    """Look until all rows are seen that are written when the event is set."""
    looks: list[Look] = []
    deadline = time.monotonic() + timeout_s
    while True:
        written = done is None or done.is_set()
        looks.append(table.look(since_ms))
        if written and table.has_all(looks[-1]):
            return looks
        assert time.monotonic() < deadline, f"{table.name}: not all rows are seen after {timeout_s:.0f} s"
        time.sleep(pause_s)


def ages(
    acknowledged: NDArray[np.float64], looks: Sequence[Look], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return of each row (partition, offset, time) the seconds to the first look that saw it."""
    times = np.array([look.at_s for look in looks])
    found = []
    for part in range(ends.shape[1]):
        rows = acknowledged[acknowledged[:, 0] == part]
        found.append(times[np.searchsorted(ends[:, part], rows[:, 1], side="right")] - rows[:, 2])
    return np.concatenate(found)


@contextmanager
def _processor(table: Contender) -> Iterator[dict[str, float]]:
    """Yields what is filled in the end: the processor's time by process, and the machine's as a whole."""
    used: dict[str, float] = {}
    before = {**table.cpu_s(), "machine": _machine_s()}
    yield used
    after = {**table.cpu_s(), "machine": _machine_s()}
    used.update({name: after[name] - before[name] for name in after})


def _machine_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def _a_row(used_s: dict[str, float], rows: int) -> dict[str, object]:
    names = ("server", "coordinator", "machine")
    return {f"{name} us/row": round(1e6 * used_s[name] / rows, 1) if name in used_s else "" for name in names}
