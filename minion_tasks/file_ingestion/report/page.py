"""One session as one HTML page that needs nothing else: no script, no font, no file from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller_client.common.counted_text import counted_text
from controller_client.common.markup import Html, document, el, join, table
from controller_client.common.visible_text import visible
from minion_tasks.file_ingestion.report.charts import attempts_chart, histogram_chart
from minion_tasks.file_ingestion.report.counts import Histogram, SessionReport
from minion_tasks.file_ingestion.report.text import bytes_text, clock_text, first_line, seconds_text
from minion_tasks.file_ingestion.session.model import FileStatus, SessionState

__all__ = ["page"]

_FAILURES_OPEN = 15
_COLUMNS_SHOWN = 100


def page(report: SessionReport, *, now_ms: int, next_does: str | None = None) -> str:
    """Write the page.

    Args:
        report: The session.
        now_ms: The time of the report, epoch milliseconds.
        next_does: What the table's next trigger does, as a sentence's end.
    """
    session = report.session
    return document(
        f"{session.table}: session {session.session_id}",
        _head(report, next_does),
        _tiles(report, now_ms),
        _status(report),
        _time(report),
        _failures(report),
        _columns(report),
        _sizes(report),
        _slowest(report),
        _readers(report),
        _segments(report),
        _facts(report),
        el("footer", f"As of {clock_text(now_ms)}. All times are UTC."),
    )


def _head(report: SessionReport, next_does: str | None) -> Html:
    session = report.session
    kind = "over" if session.abandoned else "done" if session.state is SessionState.DONE else "open"
    message = first_line(session.message) if report.failures else session.message
    state = f"{session.state}, discarded" if session.abandoned else session.state.value
    return join(
        [
            el("h1", session.table, " ", el("span", state, class_=f"state {kind}")),
            el("p", f"Session {session.session_id}, {session.mode} mode", class_="soft"),
            el("p", outcome(report)),
            el("p", message, class_="message") if message else None,
            el("p", f"The next trigger {next_does}.") if next_does else None,
        ]
    )


def outcome(report: SessionReport) -> str:
    """Say in a sentence what has become of the session."""
    session, files = report.session, sum(report.files.values())
    if session.state is SessionState.DONE:
        step = " in one step" if session.atomic else ""
        went = f", and {counted_text(report.replaced or 0, 'segment')} went" if report.replaced else ""
        came = (
            f"{counted_text(report.rows, 'row')} of {counted_text(report.files[FileStatus.STAGED], 'file')}"
        )
        return f"{came} became queryable{step}, in {counted_text(report.segments, 'segment')}{went}."
    before = "queries see the table as it was before it"
    if session.abandoned:
        return f"It was discarded: {before}." if session.atomic else "It was discarded."
    if session.state is SessionState.SWITCH:
        return "All its files are staged, and its switch is not finished."
    if session.state is SessionState.INIT:
        return f"Its plan is being written; {before}."
    return f"{report.files[FileStatus.STAGED]:,} of {counted_text(files, 'file')} are staged; {before}."


def _tiles(report: SessionReport, now_ms: int) -> Html:
    session = report.session
    ended_ms = now_ms if session.is_open else session.updated_ms
    tiles = [
        (_short(sum(report.files.values())), "files"),
        (bytes_text(report.source_bytes), "source"),
        (_short(report.rows), "rows staged"),
        (_short(report.segments), "segments"),
        (bytes_text(report.tar_bytes), "packed"),
        (
            seconds_text((ended_ms - session.created_ms) / 1000),
            "so far" if session.is_open else "begin to end",
        ),
        (f"{session.retry_count}", "retry" if session.retry_count == 1 else "retries"),
    ]
    return el("div", *(el("div", el("b", value), el("span", name)) for value, name in tiles), class_="tiles")


def _status(report: SessionReport) -> Html | None:
    total = sum(report.files.values())
    if not total:
        return None
    order = (FileStatus.STAGED, FileStatus.FAILED, FileStatus.SKIPPED, FileStatus.PENDING)
    there = [(status, report.files[status]) for status in order if report.files[status]]
    bar = el(
        "div", *(el("i", class_=s.value, style=f"flex: {count} 0 0") for s, count in there), class_="status"
    )
    key = [el("span", el("i", class_=s.value), f"{count:,} {s}") for s, count in there]
    return join([bar, el("div", *key, class_="key")])


def _time(report: SessionReport) -> Html | None:
    if not any(attempt.last_ms for attempt in report.attempts):
        return None
    note = "Staged files, cumulated; a panel for each trigger, the time between them left out."
    if any(attempt.failed for attempt in report.attempts):
        note += " Dashed: files that failed and were not read again since."
    chart = attempts_chart(report.attempts, sum(report.files.values()))
    return _section("Files over time", el("p", note, class_="soft"), el("div", chart, class_="scroll"))


def _failures(report: SessionReport) -> Html | None:
    if not report.failures:
        return None
    rows = [
        (visible(f.uri), f.status.value, f.error.removeprefix(f"{visible(f.uri)}: ")) for f in report.failures
    ]
    columns = (("file", False), ("state", False), ("why", False))
    pieces: list[Html | None] = [table(columns, rows[:_FAILURES_OPEN])]
    if folded := rows[_FAILURES_OPEN:]:
        pieces.append(el("details", el("summary", f"{len(folded):,} more of them"), table(columns, folded)))
    pieces.append(_more(report.not_staged, len(rows)))
    return _section("Files that failed or were skipped", *pieces)


def _columns(report: SessionReport) -> Html | None:
    if not report.columns:
        return None
    columns = (
        ("column", False),
        ("", False),
        ("files", True),
        ("one of them", False),
        ("similar name", False),
    )
    rows = [
        (
            visible(each.name),
            "missing" if each.is_missing else "not read",
            f"{each.files:,}",
            visible(each.first),
            visible(each.near or ""),
        )
        for each in report.columns[:_COLUMNS_SHOWN]
    ]
    note = "A missing column is null in each row of the file. One that the table does not read is left out."
    more = _more(len(report.columns), len(rows))
    return _section("Columns that differ", el("p", note, class_="soft"), table(columns, rows), more)


def _sizes(report: SessionReport) -> Html | None:
    charts = [
        el("div", el("h3", title), el("p", _spread(sizes), class_="soft"), histogram_chart(sizes, noun))
        for title, noun, sizes in (
            ("Files of the source", "files", report.file_sizes),
            ("Segments, unpacked", "segments", report.segment_sizes),
        )
        if sizes is not None
    ]
    return _section("Sizes", el("div", *charts, class_="pair")) if charts else None


def _spread(sizes: Histogram) -> str:
    smallest, largest, median = map(bytes_text, (sizes.smallest, sizes.largest, sizes.median))
    return f"{smallest} to {largest}, half of them up to {median}"


def _slowest(report: SessionReport) -> Html | None:
    if not report.slowest:
        return None
    columns = (
        *(("file", False), ("files", True), ("source", True), ("rows", True)),
        *(("segments", True), ("time", True), ("rows/s", True), ("reader", False)),
    )
    rows = [
        (
            visible(unit.uri) + (" ..." if unit.files > 1 else ""),
            f"{unit.files:,}",
            bytes_text(unit.source_bytes),
            f"{unit.rows:,}",
            f"{unit.segments:,}",
            seconds_text(unit.build_s),
            f"{unit.rows / unit.build_s:,.0f}" if unit.build_s else "",
            unit.reader,
        )
        for unit in report.slowest
    ]
    note = "Files that became segments together; the time is that of building, without the upload."
    return _section("What took longest", el("p", note, class_="soft"), table(columns, rows))


def _readers(report: SessionReport) -> Html | None:
    if not report.readers:
        return None
    pieces = [
        table((("reader", False), ("segments", True)), [(r, f"{n:,}") for r, n in report.readers.items()])
    ]
    if report.fallback_reasons:
        reasons = list(report.fallback_reasons.items())
        columns = (("why Pinot's own reader was used", False), ("segments", True))
        pieces.append(table(columns, [(reason, f"{count:,}") for reason, count in reasons[:20]]))
        pieces.append(_more(len(reasons), min(20, len(reasons))) or Html(""))
    return _section("Readers", el("div", *pieces, class_="narrow"))


def _segments(report: SessionReport) -> Html:
    done = report.session.state is SessionState.DONE
    came = "came" if done else "staged"
    pieces: list[Html | None] = [_names(report.first_segments, report.segments, came)]
    if report.replaced is None:
        pieces.append(el("p", "What goes is fixed when all files are staged.", class_="soft"))
    else:
        pieces.append(_names(report.first_replaced, report.replaced, "went" if done else "to go"))
    return _section("Segments", *pieces)


def _names(names: Sequence[str], total: int, verb: str) -> Html:
    if not names:
        return el("p", f"No segment {verb}.")
    summary = f"{counted_text(total, 'segment')} {verb}"
    entries = el("ul", *(el("li", name) for name in names))
    return el(
        "details", el("summary", summary), entries, _more(total, len(names)), open="" if total <= 8 else None
    )


def _facts(report: SessionReport) -> Html:
    session = report.session
    facts: Iterable[tuple[str, str | None]] = (
        ("begun", clock_text(session.created_ms)),
        ("last changed" if session.is_open else "ended", clock_text(session.updated_ms)),
        ("source", session.source),
        ("staging folder", session.staging_uri),
        ("visible", "in one step" if session.atomic else "segment by segment"),
        ("run by", session.owner),
        ("Helix task", session.task_name),
        ("lineage entry", session.entry_id),
    )
    return _section("The session", el("dl", *(_fact(name, value) for name, value in facts if value)))


def _fact(name: str, value: str) -> Html:
    return join([el("dt", name), el("dd", value)])


def _section(title: str, *pieces: str | None) -> Html:
    return el("section", el("h2", title), *pieces)


def _short(count: int) -> str:
    return f"{count:,}" if count < 10_000_000 else f"{count / 1e6:,.0f} M"


def _more(total: int, shown: int) -> Html | None:
    return el("p", f"... and {total - shown:,} more.", class_="soft") if total > shown else None
