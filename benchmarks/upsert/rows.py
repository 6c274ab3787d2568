"""Throughput and freshness of the tables of :mod:`benchmarks.upsert`, and their CPU time per row."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import psutil
from confluent_kafka import Message
from numpy.typing import NDArray

from benchmarks.upsert.contenders import Contender, Observation
from benchmarks.upsert.feed import running

_CATCH_UP_PAUSE_S = 0.5


def catch_up(table: Contender, rows: int, timeout_s: float) -> dict[str, object]:
    """Create a table whose rows are already in Kafka, and wait until a query sees all of them."""
    table.feed.write(rows)
    table.feed.flush()
    started = time.time()
    table.create()
    with _measured_cpu(table) as used_s:
        observations = watch(table, 0, None, _CATCH_UP_PAUSE_S, timeout_s)
    seen = table.ends(observations).sum(axis=1)
    first, last = int(np.flatnonzero(seen)[0]), len(observations) - 1
    rate = rows / (observations[last].at_s - started)
    begun = (
        (seen[last] - seen[first]) / (observations[last].at_s - observations[first].at_s)
        if first < last
        else rate
    )
    return {
        "table": table.name,
        "seconds": round(observations[last].at_s - started, 1),
        "rows/s": round(rate),
        "first rows after s": round(observations[first].at_s - started, 1),
        "rows/s once begun": round(begun),
        "sealed segments": table.sealed(),
        **_per_row(used_s, rows),
    }


def fill(table: Contender, rows: int, timeout_s: float) -> None:
    """Write rows up to this number, and wait until a query sees all of them."""
    if table.feed.sent < rows:
        table.feed.write(rows - table.feed.sent)
        table.feed.flush()
        watch(table, 0, None, _CATCH_UP_PAUSE_S, timeout_s)


def freshness(
    table: Contender, rate: int, seconds: float, pause_s: float, timeout_s: float
) -> dict[str, object]:
    """Write rows at a steady rate, and measure how long it takes until each is visible."""
    acknowledged: list[tuple[int, int, float]] = []

    def delivered(fault: object, message: Message) -> None:
        assert fault is None, fault
        acknowledged.append((message.partition() or 0, message.offset() or 0, time.time()))

    since_ms, sealed = table.feed.now_ms(), table.sealed()
    with _measured_cpu(table) as used_s, running(lambda: table.feed.steady(rate, seconds, delivered)) as done:
        observations = watch(table, since_ms, done, pause_s, timeout_s)
    delays = ages(np.array(acknowledged), observations, table.ends(observations))
    took_s = acknowledged[-1][2] - acknowledged[0][2]
    return {
        "table": table.name,
        "asked rows/s": rate,
        "rows": len(delays),
        "produced rows/s": round(len(delays) / took_s),
        "looks": len(observations),
        "sealed segments": table.sealed() - sealed,
        "p50 s": round(float(np.quantile(delays, 0.5)), 2),
        "p99 s": round(float(np.quantile(delays, 0.99)), 2),
        "worst s": round(float(delays.max()), 2),
        **_per_row(used_s, len(delays)),
    }


def watch(
    table: Contender, since_ms: int, done: threading.Event | None, pause_s: float, timeout_s: float
) -> list[Observation]:
    """Observe until all rows are visible that were written when the event was set."""
    observations: list[Observation] = []
    deadline = time.monotonic() + timeout_s
    while True:
        written = done is None or done.is_set()
        observations.append(table.observe(since_ms))
        if written and table.has_all(observations[-1]):
            return observations
        assert time.monotonic() < deadline, f"{table.name}: some rows are not visible after {timeout_s:.0f} s"
        time.sleep(pause_s)


def ages(
    acknowledged: NDArray[np.float64], observations: Sequence[Observation], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the seconds from each row (partition, offset, time) to the first observation that saw it."""
    times = np.array([each.at_s for each in observations])
    delays = []
    for part in range(ends.shape[1]):
        rows = acknowledged[acknowledged[:, 0] == part]
        delays.append(times[np.searchsorted(ends[:, part], rows[:, 1], side="right")] - rows[:, 2])
    return np.concatenate(delays)


@contextmanager
def _measured_cpu(table: Contender) -> Iterator[dict[str, float]]:
    """Yield a dict that is filled at the end: CPU time by process, and that of the whole machine."""
    used: dict[str, float] = {}
    before = {**table.cpu_s(), "machine": _machine_s()}
    yield used
    after = {**table.cpu_s(), "machine": _machine_s()}
    used.update({name: after[name] - before[name] for name in after})


def _machine_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def _per_row(used_s: dict[str, float], rows: int) -> dict[str, object]:
    names = ("server", "coordinator", "machine")
    return {f"{name} us/row": round(1e6 * used_s[name] / rows, 1) if name in used_s else "" for name in names}
