"""Renders a session as a self-contained HTML page, without external scripts, fonts or files."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.common.console import Console
from controller_client.common.pages import Cell, PageColumn, Table, page_templates
from controller_client.common.text import bytes_text, counted_text, visible
from minion_tasks.file_ingestion.report.charts import attempts_chart, histogram_chart
from minion_tasks.file_ingestion.report.counts import SessionReport, clock_text, first_line, seconds_text
from minion_tasks.file_ingestion.report.next_steps import next_steps
from minion_tasks.file_ingestion.session.model import FileStatus, SessionState

__all__ = ["outcome", "page"]

_FAILURES_OPEN = 15
_COLUMNS_SHOWN = 100
_REASONS_SHOWN = 20
_WIDTHS = (("wide", False), ("slim", True))
_STATUSES = (FileStatus.STAGED, FileStatus.FAILED, FileStatus.SKIPPED, FileStatus.PENDING)


def page(
    report: SessionReport,
    *,
    now_ms: int,
    next_does: str | None = None,
    runner: str | None = None,
    console: Console | None = None,
) -> str:
    """Render the page.

    Args:
        report: The session's figures.
        now_ms: The time of the report in epoch milliseconds.
        next_does: What the table's next trigger does, as a predicate ("resumes ..."); None of an older one.
        runner: The process that runs the table now.
        console: Pinot's console, which the table and its segments link to.
    """
    links = console or Console()
    templates = page_templates("minion_tasks.file_ingestion.report")
    templates.filters |= {"bytes": bytes_text, "clock": clock_text}
    session, files, failures = report.session, sum(report.files.values()), _failures(report)
    has_times = any(attempt.last_ms for attempt in report.attempts)
    is_done = session.state is SessionState.DONE
    return templates.get_template("session.html").render(
        report=report,
        session=session,
        now_ms=now_ms,
        steps=next_steps(report, next_does, runner),
        table_href=links.table(session.table),
        outcome=outcome(report),
        message=first_line(session.message) if report.failures else session.message,
        is_done=is_done,
        tiles=_tiles(report, now_ms),
        statuses=[(status.value, report.files[status]) for status in _STATUSES if report.files[status]],
        attempts=[
            (name, attempts_chart(report.attempts, files, is_narrow=is_narrow))
            for name, is_narrow in _WIDTHS
            if has_times
        ],
        failures=Table(failures.columns, failures.rows[:_FAILURES_OPEN]),
        more_failures=Table(failures.columns, failures.rows[_FAILURES_OPEN:]),
        columns=_columns(report),
        sizes=[
            (
                *(title, sizes),
                [(name, histogram_chart(sizes, noun, is_narrow=narrow)) for name, narrow in _WIDTHS],
            )
            for title, noun, sizes in (
                ("Files of the source", "files", report.file_sizes),
                ("Segments, uncompressed", "segments", report.segment_sizes),
            )
            if sizes is not None
        ],
        slowest=_slowest(report),
        readers=_readers(report),
        reasons=_reasons(report),
        # What is only staged is no segment of the table yet, and what went is none any more.
        came=_segments(report.first_segments, links if is_done else Console(), session.table),
        went=_segments(report.first_replaced, Console() if is_done else links, session.table),
        facts=_facts(report),
    )


def _segments(names: Sequence[str], links: Console, table: str) -> list[tuple[str, str | None]]:
    return [(visible(name), links.segment(table, name)) for name in names]


def outcome(report: SessionReport) -> str:
    """Describe the state of the session in a sentence."""
    session, files = report.session, sum(report.files.values())
    if session.state is SessionState.DONE:
        step = " in one step" if session.atomic else ""
        replaced = report.replaced or 0
        verb = "was" if replaced == 1 else "were"
        went = f", and {counted_text(replaced, 'segment')} {verb} replaced" if replaced else ""
        came = (
            f"{counted_text(report.rows, 'row')} of {counted_text(report.files[FileStatus.STAGED], 'file')}"
        )
        return f"{came} became queryable{step}, in {counted_text(report.segments, 'segment')}{went}."
    before = "queries see the table as it was before"
    if session.abandoned:
        return f"The session was discarded; {before}." if session.atomic else "The session was discarded."
    if session.state is SessionState.SWITCH:
        return "All files are staged; the switch is not finished."
    if session.state is SessionState.REJECTED:
        return f"All files are staged, but do not pass the checks; {before}."
    if session.state is SessionState.INIT:
        return f"The plan is being written; {before}."
    return f"{report.files[FileStatus.STAGED]:,} of {counted_text(files, 'file')} staged; {before}."


def _tiles(report: SessionReport, now_ms: int) -> list[tuple[str, str]]:
    session = report.session
    ended_ms = now_ms if session.is_open else session.updated_ms
    return [
        (_short(sum(report.files.values())), "files"),
        (bytes_text(report.source_bytes), "source"),
        (_short(report.rows), "rows staged"),
        (_short(report.segments), "segments"),
        (bytes_text(report.tar_bytes), "compressed"),
        (
            seconds_text((ended_ms - session.created_ms) / 1000),
            "so far" if session.is_open else "duration",
        ),
        (f"{session.retry_count}", "retry" if session.retry_count == 1 else "retries"),
    ]


def _failures(report: SessionReport) -> Table:
    return Table(
        [PageColumn("file"), PageColumn("state"), PageColumn("reason")],
        [
            (visible(f.uri), f.status.value, f.error.removeprefix(f"{visible(f.uri)}: "))
            for f in report.failures
        ],
    )


def _columns(report: SessionReport) -> Table:
    return Table(
        [
            *(PageColumn("column"), PageColumn("finding"), PageColumn("files", is_number=True)),
            *(PageColumn("example"), PageColumn("similar name")),
        ],
        [
            (
                visible(column.name),
                "missing" if column.is_missing else "not read",
                f"{column.files:,}",
                visible(column.first),
                visible(column.near or ""),
            )
            for column in report.columns[:_COLUMNS_SHOWN]
        ],
    )


def _slowest(report: SessionReport) -> Table:
    numbers = ("files", "source", "rows", "segments", "time", "rows/s")
    return Table(
        [PageColumn("file"), *(PageColumn(head, is_number=True) for head in numbers), PageColumn("reader")],
        [
            (
                visible(unit.uri) + (" ..." if unit.files > 1 else ""),
                f"{unit.files:,}",
                Cell(bytes_text(unit.source_bytes), sort=unit.source_bytes),
                f"{unit.rows:,}",
                f"{unit.segments:,}",
                Cell(seconds_text(unit.build_s), sort=round(1000 * unit.build_s)),
                f"{unit.rows / unit.build_s:,.0f}" if unit.build_s else "",
                unit.reader,
            )
            for unit in report.slowest
        ],
    )


def _readers(report: SessionReport) -> Table:
    return Table(
        [PageColumn("reader"), PageColumn("segments", is_number=True)],
        [(reader, f"{count:,}") for reader, count in report.readers.items()],
    )


def _reasons(report: SessionReport) -> Table:
    reasons = list(report.fallback_reasons.items())[:_REASONS_SHOWN]
    return Table(
        [PageColumn("reason for reading row by row"), PageColumn("segments", is_number=True)],
        [(reason, f"{count:,}") for reason, count in reasons],
    )


def _facts(report: SessionReport) -> list[tuple[str, str]]:
    session = report.session
    facts: list[tuple[str, str | None]] = [
        ("started", clock_text(session.created_ms)),
        ("last changed" if session.is_open else "ended", clock_text(session.updated_ms)),
        ("source", session.source),
        ("staging folder", session.staging_uri),
        ("visible", "in one step" if session.atomic else "segment by segment"),
        ("run by", session.owner),
        ("Helix task", session.task_name),
        ("lineage entry", session.entry_id),
    ]
    return [(name, value) for name, value in facts if value]


def _short(count: int) -> str:
    return f"{count:,}" if count < 10_000_000 else f"{count / 1e6:,.0f} M"
