"""The report on a version, the events that it has for servers, and its log lines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from controller_client.clock import Clock
from controller_client.upsert.update_message import Events
from key_coordinator.entries import concatenate
from key_coordinator.rules import Resolution

__all__ = ["VersionLines", "VersionReport", "events_of"]


@dataclass(frozen=True)
class VersionReport:
    """The contents of a version.

    Attributes:
        version: Its number.
        rows: Input rows, including those without a key.
        refused: Rows without a key.
        events: Inserts and deletes.
        keys: Keys in the state, including expired ones that have not been dropped yet.
        held_back: Whether the version's end is not sent because the generation has not caught up yet.
        lag: Input rows that were not in a version yet, a moment ago; None: not known yet.
        example: Where a row without a key is, and what is wrong with it; None: unknown.
    """

    version: int
    rows: int
    refused: int
    events: int
    keys: int
    held_back: bool
    lag: int | None = None
    example: str | None = None


def events_of(resolutions: Sequence[Resolution], version: int) -> dict[int, Events]:
    """Return the events of batches by partition: first inserts, then deletes, each in order of offset."""
    inserted = concatenate([each.inserted for each in resolutions])
    deleted = concatenate([each.deleted for each in resolutions])
    partition = np.concatenate([inserted.partition, deleted.partition])
    offset = np.concatenate([inserted.offset, deleted.offset])
    is_delete = np.repeat([False, True], [len(inserted), len(deleted)])
    order = np.lexsort((offset, is_delete, partition))
    partition, offset, is_delete = partition[order], offset[order], is_delete[order]
    numbers, firsts = np.unique(partition, return_index=True)
    ends = [*firsts, len(partition)][1:]
    return {
        int(number): Events(version, offset[first:end], is_delete[first:end])
        for number, first, end in zip(numbers, firsts, ends, strict=True)
    }


class VersionLines:
    """Logs a summary of versions every few seconds; thread-safe.

    Args:
        note: Called with each line.
        clock: Time.
        interval_s: Seconds between lines.
    """

    def __init__(self, note: Callable[[str], None], clock: Clock, *, interval_s: float = 10.0) -> None:
        self._note = note
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._noted_s = clock.monotonic()
        self._rows = 0
        self._refused = 0
        self._last: VersionReport | None = None

    def add(self, report: VersionReport) -> None:
        """Count a version."""
        with self._lock:
            self._rows += report.rows
            self._refused += report.refused
            self._last = report
            if self._clock.monotonic() - self._noted_s >= self._interval_s:
                self._line()

    def close(self) -> None:
        """Log the last line."""
        with self._lock:
            self._line()

    def _line(self) -> None:
        last, now_s = self._last, self._clock.monotonic()
        if last is None:
            return
        rate = self._rows / max(now_s - self._noted_s, 0.001)
        parts = [f"version {last.version}", f"{self._rows:,} rows ({rate:,.0f}/s)", f"{last.keys:,} keys"]
        if last.lag is not None:
            parts.append(f"{last.lag:,} rows behind")
        if self._refused:
            example = f" ({last.example})" if last.example else ""
            parts.append(f"{self._refused:,} rows without a key{example}")
        if last.held_back:
            parts.append("held back until the rebuild has caught up")
        self._note(", ".join(parts))
        self._noted_s, self._rows, self._refused, self._last = now_s, 0, 0, None
