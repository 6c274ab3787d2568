"""An audit as rows of a table, as JSON and as an HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from controller_client.common.console import Console
from controller_client.common.pages import Cell, PageColumn, PageStep, Table, page_templates
from controller_client.common.text import counted_text
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.audit_tables import TableFailure
from controller_client.deepstore.judge import Fault, Judgement
from controller_client.deepstore.next_steps import NextStep, next_steps

__all__ = ["COLUMNS", "AuditReport"]

COLUMNS = ("table", "segment", "fault", "detail", "copies")
"""Columns of the audit as a table."""

_ROWS_OF_A_PAGE = 2_000


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit.

    Attributes:
        store: URI of the deep store.
        min_copies: Required number of good copies.
        started_ms: When the audit started, in epoch milliseconds.
        took_s: How many seconds it took.
        tables: The tables that were audited.
        failed: Tables that could not be audited.
    """

    store: str
    min_copies: int
    started_ms: int
    took_s: float
    tables: tuple[TableAudit, ...]
    failed: tuple[TableFailure, ...] = ()

    @property
    def faulty(self) -> list[Judgement]:
        """All segments with findings."""
        return [each for audit in self.tables for each in audit.faulty]

    @property
    def silent(self) -> list[str]:
        """Servers that did not report their checksums for a table."""
        return sorted({server for audit in self.tables for server, _ in audit.silent})

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong and everything was checked: a silent server may have anything."""
        return not (self.faulty or self.silent or self.failed)

    @property
    def segments(self) -> int:
        """The number of committed segments that were checked."""
        return sum(audit.segments for audit in self.tables)

    def counts(self) -> Counter[Fault]:
        """Return how many segments have each fault."""
        return Counter(
            fault for each in self.faulty for fault in {finding.fault for finding in each.findings}
        )

    def rows(self) -> list[tuple[str, str, str, str, int]]:
        """Return a row for each finding, with :data:`COLUMNS`."""
        return [
            (each.record.table, each.record.segment, finding.fault.value, finding.detail, each.copies)
            for each in self.faulty
            for finding in each.findings
        ]

    def summary(self) -> str:
        """Summarize the result in a sentence: how many segments have faults, and how many have each fault."""
        parts = ", ".join(f"{count:,} {fault.words}" for fault, count in sorted(self.counts().items()))
        number = len(self.faulty)
        found = f"{number:,} with faults ({parts})" if number else "every segment has enough good copies"
        text = (
            f"{counted_text(self.segments, 'segment')} of {counted_text(len(self.tables), 'table')}: {found}."
        )
        if building := sum(audit.committing for audit in self.tables):
            text += f" Not checked: {counted_text(building, 'segment')} consumed but not yet built."
        if self.silent:
            text += f" Incomplete: no checksums from {', '.join(self.silent)}."
        if self.failed:
            text += f" Not audited: {', '.join(each.table for each in self.failed)}."
        return text

    def next_steps(self) -> list[NextStep]:
        """Return what to do about it, most useful first."""
        return next_steps(self.tables)

    def to_json(self) -> dict[str, Any]:
        """Return the complete result as a JSON document."""
        return {
            "store": self.store,
            "min_copies": self.min_copies,
            "started_ms": self.started_ms,
            "took_s": round(self.took_s, 3),
            "segments": self.segments,
            "faulty_segments": len(self.faulty),
            "faults": {fault.value: count for fault, count in sorted(self.counts().items())},
            "next_steps": [{"text": step.text, "commands": step.commands} for step in self.next_steps()],
            "silent_servers": self.silent,
            "tables": [_table_json(audit) for audit in self.tables],
            "failed_tables": {each.table: each.message for each in self.failed},
        }

    def page(self, console: Console | None = None) -> str:
        """Return the result as a self-contained HTML page; it shows at most the first 2,000 findings.

        Args:
            console: Pinot's console, which tables and segments link to.
        """
        links = console or Console()
        rows = self.rows()
        tiles = [
            (f"{len(self.tables):,}", "tables"),
            (f"{self.segments:,}", "segments"),
            (f"{len(self.faulty):,}", "with faults"),
            (f"{round(self.took_s, 1):,}", "seconds"),
            *((f"{count:,}", fault.words) for fault, count in sorted(self.counts().items())),
        ]
        return (
            page_templates("controller_client.deepstore")
            .get_template("audit.html")
            .render(
                report=self,
                state="clean" if self.is_clean else "faults" if self.faulty else "incomplete",
                tiles=tiles,
                steps=self.next_steps() or [_nothing_to_do(self)],
                tables=_tables(self.tables, links),
                failed=Table(
                    [PageColumn("table"), PageColumn("reason")],
                    [(each.table, each.message) for each in self.failed],
                ),
                findings=_findings(rows[:_ROWS_OF_A_PAGE], links),
                left_out=len(rows) - _ROWS_OF_A_PAGE,
                began=datetime.fromtimestamp(self.started_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S"),
            )
        )


def _nothing_to_do(report: AuditReport) -> PageStep:
    if report.failed:
        text = "Some tables were not inspected, for the reasons below. Fix these, then audit again."
    elif not report.segments:
        text = "There are no committed segments yet. Audit again once there are."
    else:
        text = "Nothing: every segment has its copies. To keep it that way, audit and repair at intervals."
        return PageStep(text, ("pinotctl deepstore watch",))
    return PageStep(text, ("pinotctl deepstore audit",))


def _table_json(audit: TableAudit) -> dict[str, Any]:
    return {
        "table": audit.table,
        "policy": audit.policy.value,
        "segments": audit.segments,
        "consuming": audit.consuming,
        "committing": audit.committing,
        "silent_servers": dict(audit.silent),
        "faulty": [
            {
                "segment": judgement.record.segment,
                "url": judgement.record.shown_url,
                "crc": judgement.record.crc,
                "copies": judgement.copies,
                "stored_well": judgement.stored_well,
                "replicas": [
                    {"server": one.server, "state": one.state, "crc": one.crc} for one in judgement.replicas
                ],
                "findings": [{"fault": one.fault.value, "detail": one.detail} for one in judgement.findings],
            }
            for judgement in audit.faulty
        ],
    }


def _findings(rows: Sequence[tuple[str, str, str, str, int]], links: Console) -> Table:
    return Table(
        [PageColumn(name, name == "copies") for name in COLUMNS],
        [
            (
                Cell(table, links.table(table)),
                Cell(segment, links.segment(table, segment)),
                *(fault, detail, str(copies)),
            )
            for table, segment, fault, detail, copies in rows
        ],
    )


def _tables(audits: Sequence[TableAudit], links: Console) -> Table:
    return Table(
        [
            PageColumn("table"),
            PageColumn("segments", is_number=True),
            PageColumn("consuming", is_number=True),
            PageColumn("faulty", is_number=True),
            PageColumn("silent"),
        ],
        [
            (
                Cell(audit.table, links.table(audit.table)),
                f"{audit.segments:,}",
                f"{audit.consuming:,}",
                f"{len(audit.faulty):,}",
                "; ".join(f"{server}: {why}" for server, why in audit.silent),
            )
            for audit in sorted(audits, key=lambda audit: (-len(audit.faulty), audit.table))
        ],
    )
