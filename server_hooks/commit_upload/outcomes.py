"""Counts the outcomes of the uploads of commits."""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum

__all__ = ["OutcomeCounts", "UploadOutcome"]


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
