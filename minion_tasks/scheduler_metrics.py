"""Metrics of the scheduler process."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.errors import PinotPluginError
from controller_client.monitoring import Monitoring, catalogue, forget_tables, label_sets, replace_values
from controller_client.publishing.checks.judgement import ChecksFailedError
from minion_tasks.file_ingestion.run.types import HeldError, RunOutcome, RunReport
from minion_tasks.file_ingestion.session.model import Session, SessionState

__all__ = ["SchedulerMetrics"]

_FAILED, _REJECTED, _HELD = "failed", "rejected", "held"
_OUTCOMES: Mapping[type[PinotPluginError], str] = {ChecksFailedError: _REJECTED, HeldError: _HELD}
_ROUND_BOUND_S = 120.0
"""A round takes moments; only ZooKeeper can delay it, until its time-out."""


class SchedulerMetrics:
    """The scheduler's metrics; the methods are thread-safe.

    Args:
        monitoring: The monitoring of this process.
        clock: The clock.
    """

    def __init__(self, monitoring: Monitoring, clock: Clock) -> None:
        self._clock = clock
        self._loop = monitoring.loop("scheduler", _ROUND_BOUND_S)
        self._schedules = monitoring.need("the tables' schedules have not been read yet")
        self._scheduled = monitoring.gauge(catalogue.SCHEDULED_TABLES)
        self._unschedulable = monitoring.gauge(catalogue.UNSCHEDULABLE_TABLES)
        self._runs = monitoring.counter(catalogue.RUNS)
        self._in_a_row = monitoring.gauge(catalogue.FAILED_IN_A_ROW)
        self._last_good = monitoring.gauge(catalogue.LAST_GOOD_RUN)
        self._run_started = monitoring.gauge(catalogue.RUN_STARTED)
        self._run_time = monitoring.counter(catalogue.RUN_TIME)
        self._retries = monitoring.counter(catalogue.RETRIES)
        self._files = monitoring.counter(catalogue.FILES)
        self._read_bytes = monitoring.counter(catalogue.READ_BYTES)
        self._rows = monitoring.counter(catalogue.ROWS)
        self._segments = monitoring.counter(catalogue.SEGMENTS)
        self._session_started = monitoring.gauge(catalogue.SESSION_STARTED)
        self._began_s: dict[TableName, float] = {}

    def round_ended(self) -> None:
        """Record that the loop has checked for due triggers."""
        self._loop.round_ended()

    def stopping(self) -> None:
        """Record that there are no more rounds; the scheduler waits for its current runs."""
        self._loop.ended()
        self._schedules.unmet("the scheduler is stopping: it waits for its current runs")

    def stands_by(self) -> None:
        """Record that another scheduler is active: this one does not know the state of its runs."""
        replace_values(self._in_a_row, dict.fromkeys(label_sets(self._in_a_row), 0))
        replace_values(self._last_good, {})
        for (table,) in label_sets(self._session_started):
            if table not in self._began_s:
                self._session_started.remove(table)

    def refreshed(self, tables: Collection[TableName], wrong: Collection[TableName]) -> None:
        """Record that the schedules were read; drop the metrics of tables that no longer have one."""
        self._schedules.met()
        self._scheduled.set(len(tables))
        self._unschedulable.set(len(wrong))
        for table in tables:
            # Makes the first failure count as an increase.
            self._runs.labels(table, _FAILED)
            self._runs.labels(table, _REJECTED)
            self._in_a_row.labels(table)
        of_tables = (self._runs, self._in_a_row, self._last_good, self._run_started, self._run_time)
        of_sessions = (self._retries, self._files, self._read_bytes, self._rows, self._segments)
        forget_tables((*of_tables, *of_sessions, self._session_started), tables)

    def refresh_failed(self, error: PinotPluginError) -> None:
        """Record that the schedules cannot be read; those read last stay in effect."""
        self._schedules.unmet(f"the tables' schedules cannot be read: {error.message}")

    def run_began(self, table: TableName) -> None:
        """Record that a table's run begins."""
        self._began_s[table] = self._clock.now()
        self._run_started.labels(table).set(self._clock.now())

    def session_goes_on(self, session: Session) -> None:
        """Record that a run starts, resumes or discards a session."""
        if not session.is_open:
            self._no_session(session.table)
            return
        self._session_started.labels(session.table).set(session.created_ms / 1000)
        if session.state is SessionState.IN_PROGRESS and session.retry_count:
            self._retries.labels(session.table).inc()

    def run_ended(self, table: TableName, report: RunReport | None) -> None:
        """Record that a run has ended; without a report, another run serves its trigger."""
        self._run_is_over(table)
        if report is None:
            return
        self._runs.labels(table, report.outcome.value).inc()
        self._in_a_row.labels(table).set(0)
        self._last_good.labels(table).set(self._clock.now())
        self._no_session(table)
        if report.outcome is not RunOutcome.NOTHING_NEW:
            self._files.labels(table).inc(report.files)
            self._read_bytes.labels(table).inc(report.bytes_read)
            self._rows.labels(table).inc(report.rows)
            self._segments.labels(table).inc(report.segments)

    def run_failed(self, table: TableName, error: PinotPluginError | None = None) -> None:
        """Record that a run has failed; its session stays open if it is kept.

        Args:
            table: Table name with type.
            error: Why, if it is an error of this project. That a table was rolled back is no failure.
        """
        self._run_is_over(table)
        outcome = next((name for kind, name in _OUTCOMES.items() if isinstance(error, kind)), _FAILED)
        self._runs.labels(table, outcome).inc()
        if outcome is not _HELD:
            self._in_a_row.labels(table).inc()

    def _run_is_over(self, table: TableName) -> None:
        self._run_time.labels(table).inc(self._clock.now() - self._began_s.pop(table, self._clock.now()))
        self._run_started.remove(table)

    def _no_session(self, table: TableName) -> None:
        self._session_started.remove(table)
