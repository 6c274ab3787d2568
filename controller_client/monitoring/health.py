"""Whether a process is alive, judged by the rounds of its loops, and ready, judged by what it needs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from prometheus_client import Counter, Gauge

from controller_client.clock import Clock

__all__ = ["Health", "Loop", "LoopMetrics", "Need"]


@dataclass(frozen=True)
class LoopMetrics:
    """The metrics of all loops of a process, each with the label ``loop``."""

    rounds: Counter
    failed_rounds: Counter
    failed_in_a_row: Gauge
    last_round: Gauge
    last_good_round: Gauge
    bound: Gauge


class Loop:
    """A loop that must keep making rounds; its methods may be called from any thread.

    It is watched from its first heartbeat on: what comes before, such as loading a large state, may take any
    time.

    Args:
        name: Name of the loop.
        bound_s: Longest time without a heartbeat before it counts as stuck.
        metrics: The metrics of the process.
        clock: The clock.
    """

    def __init__(self, name: str, bound_s: float, metrics: LoopMetrics, clock: Clock) -> None:
        self.name = name
        self.bound_s = bound_s
        self._metrics = metrics
        self._clock = clock
        self._seen_s: float | None = None
        metrics.rounds.labels(name)
        metrics.failed_rounds.labels(name)
        metrics.failed_in_a_row.labels(name)
        metrics.bound.labels(name).set(bound_s)

    def alive(self) -> None:
        """Send a heartbeat, within a long round."""
        self._seen_s = self._clock.monotonic()
        self._metrics.last_round.labels(self.name).set(self._clock.now())

    def round_ended(self, *, well: bool = True) -> None:
        """Count a round; a failed one is a heartbeat too."""
        self.alive()
        self._metrics.rounds.labels(self.name).inc()
        if well:
            self._metrics.last_good_round.labels(self.name).set(self._clock.now())
            self._metrics.failed_in_a_row.labels(self.name).set(0)
        else:
            self._metrics.failed_rounds.labels(self.name).inc()
            self._metrics.failed_in_a_row.labels(self.name).inc()

    def stands_by(self) -> None:
        """Note, as a heartbeat, that the loop makes no rounds because another process does."""
        self.alive()
        self._metrics.last_good_round.remove(self.name)
        self._metrics.failed_in_a_row.labels(self.name).set(0)

    def ended(self) -> None:
        """Note that the loop makes no more rounds because the process is stopping."""
        self._seen_s = None
        metrics = self._metrics
        for each in (metrics.last_round, metrics.last_good_round, metrics.failed_in_a_row):
            each.remove(self.name)

    def trouble(self) -> str | None:
        """Return why it counts as stuck; None: it does not."""
        seen_s = self._seen_s
        silent_s = 0.0 if seen_s is None else self._clock.monotonic() - seen_s
        if silent_s <= self.bound_s:
            return None
        return (
            f"the loop {self.name} sent its last heartbeat {silent_s:.0f} s ago; "
            f"one is expected every {self.bound_s:g} s"
        )


class Need:
    """Something without which a process cannot do its work; its methods may be called from any thread.

    Args:
        reason: Why it is missing at first.
    """

    def __init__(self, reason: str) -> None:
        self._reason: str | None = reason

    @property
    def reason(self) -> str | None:
        """Why it is missing; None: it is not."""
        return self._reason

    def met(self) -> None:
        """Note that it is available."""
        self._reason = None

    def unmet(self, reason: str) -> None:
        """Note that it is missing."""
        self._reason = reason


@dataclass
class Health:
    """The loops and needs of a process."""

    loops: list[Loop] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add_loop(self, loop: Loop) -> None:
        """Add a loop."""
        with self._lock:
            self.loops.append(loop)

    def add_need(self, need: Need) -> None:
        """Add a need."""
        with self._lock:
            self.needs.append(need)

    def troubles(self) -> list[str]:
        """Return why the process is not alive; empty: it is."""
        with self._lock:
            loops = list(self.loops)
        return [trouble for each in loops if (trouble := each.trouble())]

    def missing(self) -> list[str]:
        """Return why the process is not ready; empty: it is."""
        with self._lock:
            needs = list(self.needs)
        return [reason for each in needs if (reason := each.reason)]
