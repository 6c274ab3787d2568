"""The metrics of a key coordinator's process."""

from __future__ import annotations

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.monitoring import Monitoring, catalogue
from key_coordinator.report import VersionReport

__all__ = ["CoordinatorMetrics"]

_ROUND_BOUND_S = 300.0
"""A round takes a second; a large version, or a pause after a failure, takes longer."""


class CoordinatorMetrics:
    """The coordinator's metrics; its methods may be called by any thread.

    Args:
        monitoring: Of the process.
        table: Name with type.
        clock: Time.
    """

    def __init__(self, monitoring: Monitoring, table: TableName, clock: Clock) -> None:
        self._clock = clock
        self._loop = monitoring.loop("coordinator", _ROUND_BOUND_S)
        self._works = monitoring.need(f"the coordinator of {table} is not working yet")
        self._version = monitoring.gauge(catalogue.COORDINATOR_VERSION)
        self._version_at = monitoring.gauge(catalogue.COORDINATOR_VERSION_AT)
        self._lag = monitoring.gauge(catalogue.COORDINATOR_LAG)
        self._keys = monitoring.gauge(catalogue.COORDINATOR_KEYS)
        self._versions = monitoring.counter(catalogue.COORDINATOR_VERSIONS)
        self._rows = monitoring.counter(catalogue.COORDINATOR_ROWS)
        self._keyless = monitoring.counter(catalogue.COORDINATOR_KEYLESS)
        self._events = monitoring.counter(catalogue.COORDINATOR_EVENTS)
        self._failures = monitoring.counter(catalogue.COORDINATOR_FAILURES)
        self._table = str(table)
        for counter in (self._versions, self._rows, self._keyless, self._events, self._failures):
            counter.labels(self._table)

    def checked(self, lag: int | None) -> None:
        """Record a round of a coordinator that leads or follows.

        Args:
            lag: Input rows that are not in a version yet; None: unknown, so the metric has no value.
        """
        self._loop.round_ended()
        self._works.met()
        self._set_lag(lag)

    def version_sent(self, report: VersionReport) -> None:
        """Count a version."""
        table = self._table
        self._loop.alive()
        self._version.labels(table).set(report.version)
        self._version_at.labels(table).set(self._clock.now())
        self._keys.labels(table).set(report.keys)
        self._versions.labels(table).inc()
        self._rows.labels(table).inc(report.rows)
        self._keyless.labels(table).inc(report.refused)
        self._events.labels(table).inc(report.events)
        self._set_lag(report.lag)

    def failed(self, reason: str) -> None:
        """Record a failure; the coordinator will retry."""
        self._loop.round_ended(well=False)
        self._failures.labels(self._table).inc()
        self._works.unmet(reason)

    def _set_lag(self, lag: int | None) -> None:
        if lag is None:
            self._lag.remove(self._table)
        else:
            self._lag.labels(self._table).set(lag)
