"""Metrics of the watch, in Prometheus' text format, and the little HTTP server that tells them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from controller_client.deepstore.judge import Fault
from controller_client.deepstore.repair import Outcome, Repaired
from controller_client.deepstore.report import AuditReport
from controller_client.errors import SetupError

__all__ = ["MetricsServer", "WatchMetrics"]

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class WatchMetrics:
    """What the watch has seen and done; written by its thread, read by those of the HTTP server."""

    segments: dict[str, int] = field(default_factory=dict)
    silent: dict[str, int] = field(default_factory=dict)
    faulty: dict[tuple[str, str], int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=lambda: {each.value: 0 for each in Outcome})
    rounds: int = 0
    failed_rounds: int = 0
    last_round_s: float = 0.0
    last_success_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def audited(self, report: AuditReport) -> None:
        """Take in what an audit has found."""
        faulty = {(audit.table, fault.value): 0 for audit in report.tables for fault in Fault}
        for each in report.faulty:
            for fault in {finding.fault for finding in each.findings}:
                faulty[each.record.table, fault.value] += 1
        with self._lock:
            self.segments = {audit.table: audit.segments for audit in report.tables}
            self.silent = {audit.table: len(audit.silent) for audit in report.tables}
            self.faulty = faulty

    def repaired(self, each: Repaired) -> None:
        """Count one repair."""
        with self._lock:
            self.outcomes[each.outcome.value] += 1

    def round_ended(self, now_s: float, took_s: float, *, well: bool) -> None:
        """Count one round.

        Args:
            now_s: Wall-clock time, seconds since the epoch.
            took_s: Seconds that the round took.
            well: Whether it came to its end.
        """
        with self._lock:
            self.rounds += 1
            self.last_round_s = took_s
            if well:
                self.last_success_s = now_s
            else:
                self.failed_rounds += 1

    def text(self) -> str:
        """Return all of it in Prometheus' text format."""
        with self._lock:
            families = (
                _family(
                    "segments",
                    "gauge",
                    "Committed segments of a table.",
                    ((({"table": table}), count) for table, count in sorted(self.segments.items())),
                ),
                _family(
                    "faulty_segments",
                    "gauge",
                    "Segments of a table with a fault of their copies, before the round's repairs.",
                    (
                        ({"table": table, "fault": fault}, count)
                        for (table, fault), count in sorted(self.faulty.items())
                    ),
                ),
                _family(
                    "silent_servers",
                    "gauge",
                    "Servers of a table that did not report the check sums of their copies.",
                    (({"table": table}, count) for table, count in sorted(self.silent.items())),
                ),
                _family(
                    "repairs_total",
                    "counter",
                    "Repairs that were tried.",
                    (({"outcome": outcome}, count) for outcome, count in sorted(self.outcomes.items())),
                ),
                _family("rounds_total", "counter", "Rounds of audit and repair.", [({}, self.rounds)]),
                _family(
                    "failed_rounds_total", "counter", "Rounds that broke off.", [({}, self.failed_rounds)]
                ),
                _family(
                    "last_round_seconds", "gauge", "Length of the last round.", [({}, self.last_round_s)]
                ),
                _family(
                    "last_success_timestamp_seconds",
                    "gauge",
                    "End of the last round that came to its end, since the epoch.",
                    [({}, self.last_success_s)],
                ),
            )
        return "".join(families)


class MetricsServer:
    """Answers ``GET /metrics``, and ``GET /health`` with ``OK``; a context manager.

    Args:
        host: Address to listen on.
        port: Port; 0: any that is free.
        text: Called in a thread of the server for each question.

    Raises:
        SetupError: The port is taken.
    """

    def __init__(self, host: str, port: int, text: Callable[[], str]) -> None:
        pages: dict[str, Callable[[], str]] = {"/metrics": text, "/health": lambda: "OK"}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # http.server's name
                found = pages.get(self.path.partition("?")[0])
                body = (found() if found else "there are /metrics and /health").encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", _TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: object) -> None:
                pass  # a line for each question tells nothing

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise SetupError(
                f"the metrics cannot be told at {host}:{port}: {error.strerror}", remedy="choose another port"
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _family(name: str, kind: str, meaning: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> str:
    full = f"pinot_deepstore_{name}"
    lines = [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}"]
    for labels, value in samples:
        named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{full}{{{named}}} {value}" if named else f"{full} {value}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
