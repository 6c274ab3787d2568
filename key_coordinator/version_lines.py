"""Log lines on the progress of a key coordinator."""

from __future__ import annotations

import threading
from collections.abc import Callable

from controller_client.clock import Clock
from key_coordinator.report import VersionReport

__all__ = ["VersionLines"]


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
