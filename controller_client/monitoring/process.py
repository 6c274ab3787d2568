"""The metrics, loops and needs of one process; all its parts share one object."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from controller_client._version import __version__
from controller_client.clock import Clock, SystemClock
from controller_client.monitoring import catalogue
from controller_client.monitoring.catalogue import Metric, MetricKind
from controller_client.monitoring.health import Health, Loop, LoopMetrics, Need
from controller_client.monitoring.values import Values

__all__ = ["Monitoring"]

_Instrument = TypeVar("_Instrument", Counter, Gauge)


class Monitoring:
    """The monitoring of a process; only a server makes it visible. Its methods may be called from any thread.

    Args:
        process: The kind of process, e.g. ``scheduler``.
        clock: The clock.
    """

    def __init__(self, process: str, clock: Clock | None = None) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # else each counter appears twice
        self.process = process
        self.registry = CollectorRegistry()
        self.health = Health()
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._made: dict[str, Counter | Gauge] = {}
        ProcessCollector(registry=self.registry)
        self.gauge(catalogue.PROCESS_INFO).labels(process, __version__).set(1)
        # Computed at each scrape, so that it agrees with /ready, whatever threads change meanwhile.
        self.gauge(catalogue.PROCESS_READY).set_function(lambda: not self.health.missing())
        self._loops = LoopMetrics(
            self.counter(catalogue.ROUNDS),
            self.counter(catalogue.FAILED_ROUNDS),
            self.gauge(catalogue.FAILED_ROUNDS_IN_A_ROW),
            self.gauge(catalogue.LAST_ROUND),
            self.gauge(catalogue.LAST_GOOD_ROUND),
            self.gauge(catalogue.ROUND_BOUND),
        )

    def counter(self, metric: Metric) -> Counter:
        """Return the counter for a metric, created on the first call."""
        return self._instrument(metric, MetricKind.COUNTER, Counter)

    def gauge(self, metric: Metric) -> Gauge:
        """Return the gauge for a metric, created on the first call."""
        return self._instrument(metric, MetricKind.GAUGE, Gauge)

    def sample(self, metric: Metric, read: Callable[[], Values]) -> None:
        """Read a metric's values from elsewhere at each scrape.

        Args:
            metric: The metric.
            read: Returns the values, from memory; called in a thread of the HTTP server.
        """
        self.registry.register(_Sampled(metric, read))

    def loop(self, name: str, bound_s: float) -> Loop:
        """Create a loop; if it gets stuck, the process is not alive.

        Args:
            name: Name of the loop.
            bound_s: Longest time without a heartbeat before it counts as stuck.
        """
        made = Loop(name, bound_s, self._loops, self._clock)
        self.health.add_loop(made)
        return made

    def need(self, reason: str) -> Need:
        """Create a need; while it is not met, the process is not ready.

        Args:
            reason: Why it is missing at first, for people.
        """
        made = Need(reason)
        self.health.add_need(made)
        return made

    def text(self) -> str:
        """Return all metrics, as Prometheus scrapes them."""
        return generate_latest(self.registry).decode()

    def _instrument(self, metric: Metric, kind: MetricKind, make: type[_Instrument]) -> _Instrument:
        if metric.kind is not kind:
            raise TypeError(f"{metric.name} is a {metric.kind}")
        with self._lock:
            instrument = self._made.get(metric.name)
            if instrument is None:
                instrument = make(metric.name, metric.meaning, metric.labels, registry=self.registry)
                self._made[metric.name] = instrument
        if not isinstance(instrument, make):
            raise TypeError(f"{metric.name} is a {metric.kind}")
        return instrument


class _Sampled(Collector):
    """A metric whose values are kept elsewhere."""

    def __init__(self, metric: Metric, read: Callable[[], Values]) -> None:
        self._metric = metric
        self._read = read

    def describe(self) -> Iterable[Family]:
        """Describe the metric without reading its values, which may not exist yet."""
        return [self._family()]

    def collect(self) -> Iterable[Family]:
        """Return the metric with its current values."""
        family = self._family()
        for labels, value in sorted(self._read().items()):
            family.add_metric(labels, value)
        return [family]

    def _family(self) -> CounterMetricFamily | GaugeMetricFamily:
        metric = self._metric
        kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
        return kind(metric.name, metric.meaning, labels=metric.labels)
