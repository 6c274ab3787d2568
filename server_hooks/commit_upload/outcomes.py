"""What becomes of the uploads of commits, counted."""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum

__all__ = ["Outcome", "OutcomeCounts"]


class Outcome(StrEnum):
    """What became of an upload; each is a value of a metric's label."""

    OK = "ok"
    """It ended within the wait."""
    FAILED = "failed"
    """The store refused it, or broke off; each attempt counts."""
    TIMED_OUT = "timed_out"
    """The commit went on without it; it may still end."""
    LATE = "late"
    """It ended after the wait."""
    GIVEN_UP = "given_up"
    """Its tar is kept no longer: the repair makes the segment's copy."""


class OutcomeCounts:
    """Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Outcome] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        with self._lock:
            self._counts[outcome] += 1

    def get(self, outcome: Outcome) -> int:
        """How often that was the outcome."""
        with self._lock:
            return self._counts[outcome]
