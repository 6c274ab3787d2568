"""Metrics of the watch."""

from __future__ import annotations

from collections.abc import Callable

from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.judge import Fault
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.repair import Repaired, RepairOutcome
from controller_client.deepstore.report import AuditReport
from controller_client.monitoring import Monitoring, catalogue, replace_values

__all__ = ["WatchMetrics"]

_ROUND_BOUND_S = 3600.0
"""An audit of many tables that reads tars takes long; each repair counts as a sign of life."""


class WatchMetrics:
    """The watch's metrics; written by its thread.

    Args:
        monitoring: The process' metrics.
        interval_s: Seconds from the end of a round to the start of the next.
    """

    def __init__(self, monitoring: Monitoring, interval_s: float) -> None:
        self._loop = monitoring.loop("watch", interval_s + _ROUND_BOUND_S)
        self._audited = monitoring.need("no audit has finished yet")
        self._segments = monitoring.gauge(catalogue.COMMITTED_SEGMENTS)
        self._faulty = monitoring.gauge(catalogue.FAULTY_SEGMENTS)
        self._uncopied = monitoring.gauge(catalogue.UNCOPIED_SEGMENTS)
        self._unstored = monitoring.gauge(catalogue.UNSTORED_SEGMENTS)
        self._silent = monitoring.gauge(catalogue.SILENT_SERVERS)
        self._failed_tables = monitoring.gauge(catalogue.FAILED_TABLES)
        self._repairs = monitoring.counter(catalogue.REPAIRS)
        self._swept = monitoring.counter(catalogue.SWEPT_OBJECTS)
        self._of_audits = (
            *(self._segments, self._faulty, self._uncopied, self._unstored, self._silent),
            self._failed_tables,
        )
        self._stood_by = False
        self._took = monitoring.gauge(catalogue.LAST_AUDIT_TIME)
        for outcome in RepairOutcome:
            self._repairs.labels(outcome.value)

    def stands_by(self) -> None:
        """Record that another watch works: this one is ready to take over, and its values are out of date."""
        self._loop.stands_by()
        self._audited.met()
        self._stood_by = True
        for gauge in self._of_audits:
            replace_values(gauge, {})

    def round_begins(self) -> None:
        """Record the start of a round: the first one after a takeover decides whether this watch is ready."""
        if self._stood_by:
            self._stood_by = False
            self._audited.unmet("no audit has finished since this watch took over")

    def audited(self, report: AuditReport) -> None:
        """Record an audit's result; tables that it did not include no longer have values."""
        self._loop.alive()
        self._audited.met()

        def by_table(count: Callable[[TableAudit], int]) -> dict[tuple[str, ...], float]:
            return {(audit.table,): count(audit) for audit in report.tables}

        faulty: dict[tuple[str, ...], float] = {
            (audit.table, fault.value): 0 for audit in report.tables for fault in Fault
        }
        for judgement in report.faulty:
            for fault in {finding.fault for finding in judgement.findings}:
                faulty[judgement.record.table, fault.value] += 1
        replace_values(self._segments, by_table(lambda audit: audit.segments))
        replace_values(self._silent, by_table(lambda audit: len(audit.silent)))
        replace_values(self._faulty, faulty)
        replace_values(
            self._uncopied,
            by_table(lambda audit: sum(judgement.without_good_copy for judgement in audit.faulty)),
        )
        replace_values(self._unstored, by_table(_unstored))

        failed: dict[tuple[str, ...], float] = {(failure.table,): 1 for failure in report.failed}
        replace_values(self._failed_tables, by_table(lambda _audit: 0) | failed)

    def repaired(self, each: Repaired) -> None:
        """Count one repair."""
        self._loop.alive()
        self._repairs.labels(each.outcome.value).inc()

    def swept(self, count: int) -> None:
        """Count deleted leftovers in the store."""
        self._loop.alive()
        self._swept.inc(count)

    def round_ended(self, took_s: float, *, well: bool) -> None:
        """Count one round.

        Args:
            took_s: Seconds that the round took.
            well: Whether it finished without skipping a table.
        """
        self._took.set(took_s)
        self._loop.round_ended(well=well)


def _unstored(audit: TableAudit) -> int:
    """Count the segments that lack the copy in the store that the table's policy requires."""
    return sum(each.unstored for each in audit.faulty) if audit.policy is StorePolicy.STORE else 0
