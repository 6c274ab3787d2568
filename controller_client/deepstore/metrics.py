"""Metrics of the watch for Prometheus, and the HTTP server that answers with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controller_client.deepstore.judge import Fault
from controller_client.deepstore.repair import Outcome, Repaired
from controller_client.deepstore.report import AuditReport
from controller_client.errors import SetupError

__all__ = ["MetricsServer", "WatchMetrics"]


@dataclass(eq=False)
class WatchMetrics(Collector):
    """What the watch has seen and done; written by its thread, collected in those of the HTTP server.

    A collection sees one moment: never the segments of one audit beside the faults of another.
    """

    segments: dict[str, int] = field(default_factory=dict)
    silent: dict[str, int] = field(default_factory=dict)
    faulty: dict[tuple[str, str], int] = field(default_factory=dict)
    failed_tables: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=lambda: {each.value: 0 for each in Outcome})
    swept_objects: int = 0
    rounds: int = 0
    failed_rounds: int = 0
    last_round_s: float = 0.0
    last_success_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def audited(self, report: AuditReport) -> None:
        """Take in what an audit has found."""
        faulty: dict[tuple[str, str], int] = {
            (audit.table, fault.value): 0 for audit in report.tables for fault in Fault
        }
        for each in report.faulty:
            for fault in {finding.fault for finding in each.findings}:
                faulty[each.record.table, fault.value] += 1
        with self._lock:
            self.segments = {audit.table: audit.segments for audit in report.tables}
            self.silent = {audit.table: len(audit.silent) for audit in report.tables}
            self.faulty = faulty
            self.failed_tables = {audit.table: 0 for audit in report.tables}
            self.failed_tables |= {each.table: 1 for each in report.failed}

    def repaired(self, each: Repaired) -> None:
        """Count one repair."""
        with self._lock:
            self.outcomes[each.outcome.value] += 1

    def swept(self, count: int) -> None:
        """Count leftovers that were deleted."""
        with self._lock:
            self.swept_objects += count

    def round_ended(self, now_s: float, took_s: float, *, well: bool) -> None:
        """Count one round.

        Args:
            now_s: Wall-clock time, seconds since the epoch.
            took_s: Seconds that the round took.
            well: Whether it came to its end, and left no table out.
        """
        with self._lock:
            self.rounds += 1
            self.last_round_s = took_s
            if well:
                self.last_success_s = now_s
            else:
                self.failed_rounds += 1

    def collect(self) -> Iterable[Metric]:
        """Return all of it; called in a thread of the HTTP server for each question."""
        with self._lock:
            return list(self._families())

    def _families(self) -> Iterator[Metric]:
        segments = _gauge("segments", "Committed segments of a table.", "table")
        for table, count in sorted(self.segments.items()):
            segments.add_metric([table], count)
        yield segments
        faulty = _gauge(
            "faulty_segments",
            "Segments of a table with a fault of their copies, before the round's repairs.",
            "table",
            "fault",
        )
        for labels, count in sorted(self.faulty.items()):
            faulty.add_metric(labels, count)
        yield faulty
        silent = _gauge(
            "silent_servers",
            "Servers of a table that did not report the check sums of their copies.",
            "table",
        )
        for table, count in sorted(self.silent.items()):
            silent.add_metric([table], count)
        yield silent
        failed = _gauge(
            "failed_tables", "1 for a table that the last round could not inspect, else 0.", "table"
        )
        for table, is_failed in sorted(self.failed_tables.items()):
            failed.add_metric([table], is_failed)
        yield failed
        repairs = CounterMetricFamily(_full("repairs"), "Repairs that were attempted.", labels=["outcome"])
        for outcome, count in sorted(self.outcomes.items()):
            repairs.add_metric([outcome], count)
        yield repairs
        swept = "Leftovers in the store that were deleted."
        yield CounterMetricFamily(_full("swept_objects"), swept, value=self.swept_objects)
        yield CounterMetricFamily(_full("rounds"), "Rounds of audit and repair.", value=self.rounds)
        yield CounterMetricFamily(
            _full("failed_rounds"), "Rounds that were aborted, or left a table out.", value=self.failed_rounds
        )
        yield GaugeMetricFamily(
            _full("last_round_seconds"), "Length of the last round.", value=self.last_round_s
        )
        yield GaugeMetricFamily(
            _full("last_success_timestamp_seconds"),
            "End of the last round that inspected all tables, since the epoch.",
            value=self.last_success_s,
        )


def _full(name: str) -> str:
    return f"pinot_deepstore_{name}"


def _gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(_full(name), meaning, labels=labels)


class MetricsServer:
    """Answers ``GET /metrics``, and ``GET /health`` with ``OK``; a context manager.

    Args:
        host: Address to listen on.
        port: Port; 0: any that is free.
        collector: What is asked for metrics, in a thread of the server.

    Raises:
        SetupError: The port is taken.
    """

    def __init__(self, host: str, port: int, collector: Collector) -> None:
        registry = CollectorRegistry()
        registry.register(collector)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise SetupError(
                f"metrics cannot be served at {host}:{port}: {error.strerror}", remedy="choose another port"
            ) from error
        self._server.set_app(_pages(make_wsgi_app(registry)))

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _pages(metrics: Callable[..., Any]) -> Callable[..., Any]:
    """Make the WSGI application of the server."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        path = environ.get("PATH_INFO")
        if path == "/metrics":
            return metrics(environ, start_response)
        is_health = path == "/health"
        status = "200 OK" if is_health else "404 Not Found"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [b"OK" if is_health else b"there are /metrics and /health"]

    return answer
