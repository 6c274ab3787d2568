"""``pinotctl task session``: inspect a table's sessions, write a report, clear them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from controller_client.common.new_file import write_page
from controller_client.common.text import counted_text
from controller_client.errors import ConfigError, NotFoundError
from minion_tasks.file_ingestion.params.registration import load_params, offline_table
from minion_tasks.file_ingestion.report.counts import SessionReport, clock_text, first_line, read_report
from minion_tasks.file_ingestion.report.page import page
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.preview import (
    DAMAGED,
    Clearing,
    damage_reason,
    next_trigger,
    preview_clear,
)
from minion_tasks.file_ingestion.run.trigger import RunTools
from minion_tasks.file_ingestion.session.model import Session
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore
from pinotctl.commands.task_tools import (
    column_fields,
    describe_next,
    lock_wait_option,
    now_ms,
    run_tools,
    running,
    servers_behind,
    version_fields,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["session"]

_SESSION = click.option(
    "--session", "session_id", metavar="ID", help="Session to use; default: the last one."
)
_NAMES_SHOWN = 10


@click.group(cls=CommandGroup)
def session() -> None:
    """Inspect the sessions of FileIngestionTask, write a report, clear them."""


@session.command()
@table_argument("table")
@_SESSION
@click.option(
    "--errors",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Maximum number of failed files to show.",
)
@output_option()
@pass_cli
def show(cli: CliContext, table: str, session_id: str | None, errors: int) -> None:
    """Show the last session, and what the next trigger will do."""
    name = offline_table(cli.client(), table)
    sessions = SessionStore(cli.property_store(), name)
    tools = run_tools(cli)
    try:
        found = _load(sessions, session_id, name)
        report = read_report(sessions, found, failures=errors, names=_NAMES_SHOWN)
    except DamagedSessionError as error:
        _show_damaged(cli, tools, error)
        return
    record = _record(report, as_text=not cli.out.is_json)
    record["running"] = running(tools, name)
    record["next_trigger"] = _next_does(tools, sessions, report, record["running"])
    failures = [
        {"file": failure.uri, "state": failure.status.value, "error": failure.error}
        for failure in report.failures
    ]
    if cli.out.is_json:
        cli.out.json({**record, "errors": failures})
        return
    cli.out.record(_flat(record))
    if failures:
        cli.out.note(f"\n{counted_text(report.not_staged, 'file')} failed or skipped, {len(failures)} shown:")
        cli.out.table(("file", "state", "error"), [tuple(failure.values()) for failure in failures])


@session.command()
@table_argument("table")
@output_option()
@pass_cli
def history(cli: CliContext, table: str) -> None:
    """List the stored sessions, newest first."""
    name = offline_table(cli.client(), table)
    sessions = SessionStore(cli.property_store(), name)
    rows: list[tuple[object, ...]] = []
    for session_id in reversed(sessions.ids()):
        try:
            session_report = read_report(sessions, sessions.load(session_id), failures=0, names=0)
        except NotFoundError:
            continue  # pruned or cleared after it was listed
        except DamagedSessionError as error:
            rows.append((session_id, DAMAGED, *(None,) * 8, error.fault))
            continue
        rows.append(_history_row(session_report, whole_message=cli.out.is_json))
    columns = (
        *("session", "state", "abandoned", "began", "ended", "mode"),
        *("files", "rows", "bytes", "retries", "message"),
    )
    cli.out.table(columns, rows)
    if not rows:
        cli.out.note(f"{name} has no session")


@session.command()
@table_argument("table")
@lock_wait_option
@yes_option
@dry_run_option
@output_option()
@pass_cli
def clear(cli: CliContext, table: str, lock_wait_s: float, yes: bool, dry_run: bool) -> None:
    """Delete all sessions and their staged segments; a switch in progress is reverted.

    The table keeps serving its current segments. The next trigger starts over.
    """
    name = offline_table(cli.client(), table)
    tools, params = run_tools(cli), load_params(cli.client(), name)
    sessions = SessionStore(tools.store, name)
    planned = preview_clear(tools.client, sessions)
    if dry_run or not planned:
        _show_clearing(cli, planned)
        would = f"{name}: {counted_text(len(planned), 'session')} to be cleared"
        cli.out.note(would if planned else f"{name} has no session")
        return
    confirm(f"Clear {counted_text(len(planned), 'session')} of {name}?", yes=yes)
    with tools.lock(name) as lock:
        lock.acquire(lock_wait_s)
        done = preview_clear(tools.client, sessions)
        Cleaning(tools, name, params, sessions).clear_all()
    _show_clearing(cli, done)
    cli.out.note(f"{name}: {counted_text(len(done), 'session')} cleared")


@session.command()
@table_argument("table")
@_SESSION
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; default: standard output.",
)
@pass_cli
def report(cli: CliContext, table: str, session_id: str | None, file: Path | None) -> None:
    """Write an HTML report of a session: times, failures, sizes, readers, segments.

    The page is self-contained, so it can be mailed and archived.
    """
    name = offline_table(cli.client(), table)
    sessions = SessionStore(cli.property_store(), name)
    session_report = read_report(sessions, _load(sessions, session_id, name))
    tools = run_tools(cli)
    runner = running(tools, name)
    text = page(
        session_report,
        now_ms=now_ms(),
        next_does=_next_does(tools, sessions, session_report, runner),
        runner=runner,
        console=cli.console(),
    )
    if file is None:
        cli.out.document(text)
        return
    write_page(file, text)
    cli.out.note(f"session {session_report.session.session_id} of {name}: {file}")


def _show_damaged(cli: CliContext, tools: RunTools, error: DamagedSessionError) -> None:
    """Show what can still be reported about a session whose record is damaged."""
    runner = running(tools, error.table)
    record = {
        "table": error.table,
        "session": error.session_id,
        "state": DAMAGED,
        "message": error.message,
        "znode": error.where,
        "running": runner,
        "next_trigger": describe_next(f"starts over: {damage_reason(error)}", runner),
    }
    cli.out.record({key: value for key, value in record.items() if value is not None or cli.out.is_json})


def _load(sessions: SessionStore, session_id: str | None, table: str) -> Session:
    if session_id is not None:
        if session_id not in sessions.ids():
            raise NotFoundError(
                f"{table} has no session {session_id!r}",
                remedy="list them with 'pinotctl task session history'",
            )
        return sessions.load(session_id)
    latest = sessions.latest()
    if latest is None:
        raise NotFoundError(f"{table} has no session", remedy="start one with 'pinotctl task run'")
    return latest


def _next_does(
    tools: RunTools, sessions: SessionStore, report: SessionReport, runner: str | None
) -> str | None:
    """Describe what the next trigger does with the table's last session; None for an older session."""
    shown = report.session
    try:
        params = load_params(tools.client, shown.table)
    except ConfigError as error:
        return f"fails: {error.message}"
    if sessions.ids()[-1:] != [shown.session_id]:
        return None
    now = next_trigger(tools.client, sessions, params)
    return describe_next(now.sentence(params, report.unread), runner)


def _record(report: SessionReport, *, as_text: bool) -> dict[str, Any]:
    stored_session = report.session
    files = {status.value: count for status, count in report.files.items()}
    return {
        "table": stored_session.table,
        "session": stored_session.session_id,
        "state": stored_session.state.value,
        "abandoned": stored_session.abandoned,
        "retry_count": stored_session.retry_count,
        "mode": stored_session.mode.value,
        "atomic": stored_session.atomic,
        "source": stored_session.source,
        **version_fields(stored_session.source_version),
        "began": clock_text(stored_session.created_ms),
        "ended": _ended(stored_session),
        "run_by": stored_session.owner,
        "files": {"all": sum(files.values()), **files},
        "source_bytes": report.source_bytes,
        "rows": report.rows,
        "segments": report.segments,
        "staged_tar_bytes": report.tar_bytes,
        "segment_bytes": report.segment_bytes,
        **column_fields(report.columns, as_text=as_text),
        "replaces": {"segments": report.replaced, "first": list(report.first_replaced)},
        "lineage_entry": stored_session.entry_id,
        "servers_behind": servers_behind(stored_session.behind, as_text=as_text),
        "message": stored_session.message,
    }


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Format nested values for display."""
    files, replaces = record["files"], record["replaces"]
    states = ", ".join(f"{count:,} {state}" for state, count in files.items() if state != "all" and count)
    names = ", ".join(replaces["first"])
    more = ", ..." if replaces["segments"] and replaces["segments"] > len(replaces["first"]) else ""
    replaced = (
        "not fixed yet" if replaces["segments"] is None else counted_text(replaces["segments"], "segment")
    )
    shown = {
        **record,
        "files": f"{files['all']:,}" + (f": {states}" if states else ""),
        "replaces": replaced + (f": {names}{more}" if names else ""),
        "message": first_line(record["message"]),
    }
    return {key: value for key, value in shown.items() if value is not None}


def _history_row(report: SessionReport, *, whole_message: bool) -> tuple[object, ...]:
    stored_session = report.session
    return (
        stored_session.session_id,
        stored_session.state.value,
        stored_session.abandoned,
        clock_text(stored_session.created_ms),
        _ended(stored_session),
        stored_session.mode.value,
        sum(report.files.values()),
        report.rows,
        report.source_bytes,
        stored_session.retry_count,
        stored_session.message if whole_message else first_line(stored_session.message),
    )


def _ended(found: Session) -> str | None:
    return None if found.is_open else clock_text(found.updated_ms)


def _show_clearing(cli: CliContext, clearing: list[Clearing]) -> None:
    cli.out.table(
        ("session", "state", "abandoned", "effect"),
        [(each.session_id, each.state, each.abandoned, each.effect) for each in clearing],
    )
