"""The metrics of the uploads of commits, and the counts of their outcomes."""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum

from controller_client.monitoring import Monitoring, catalogue
from server_hooks.commit_upload.backlog import Backlog
from server_hooks.commit_upload.upload_state import BacklogLevel

__all__ = ["OutcomeCounts", "UploadOutcome", "publish_uploads"]


class UploadOutcome(StrEnum):
    """The outcome of an upload; each is a value of a metric's label."""

    OK = "ok"
    """It finished while the commit waited."""
    FAILED = "failed"
    """The store rejected it, or the connection broke; each attempt counts."""
    TIMED_OUT = "timed_out"
    """The commit continued without it; it may still finish."""
    LATE = "late"
    """It finished after the commit continued."""
    DISCARDED = "discarded"
    """Its tar was discarded; `pinotctl deepstore repair` makes the copy of the segment."""


class OutcomeCounts:
    """Counters by outcome; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[UploadOutcome] = Counter()

    def add(self, outcome: UploadOutcome) -> None:
        """Count one upload."""
        with self._lock:
            self._counts[outcome] += 1

    def get(self, outcome: UploadOutcome) -> int:
        """Return the number of uploads with an outcome."""
        with self._lock:
            return self._counts[outcome]


def publish_uploads(monitoring: Monitoring, counts: OutcomeCounts, backlog: Backlog) -> None:
    """Add a server's uploads and backlog to the metrics of its process; each scrape reads the values."""

    def oldest() -> dict[tuple[str, ...], float]:
        built_s = backlog.oldest_built_s
        return {} if built_s is None else {(): built_s}

    def level() -> dict[tuple[str, ...], float]:
        present = backlog.level
        return {(each.value,): each is present for each in BacklogLevel}

    monitoring.sample(
        catalogue.UPLOADS, lambda: {(outcome.value,): counts.get(outcome) for outcome in UploadOutcome}
    )
    monitoring.sample(catalogue.BACKLOG_SEGMENTS, lambda: {(): backlog.segments})
    monitoring.sample(catalogue.BACKLOG_BYTES, lambda: {(): backlog.bytes})
    monitoring.gauge(catalogue.BACKLOG_MAX_BYTES).set(backlog.max_bytes)
    monitoring.sample(catalogue.BACKLOG_OLDEST, oldest)
    monitoring.sample(catalogue.BACKLOG_LEVEL, level)
