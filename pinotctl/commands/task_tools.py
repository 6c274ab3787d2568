"""Helpers shared by the commands of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.common.parsing import period_s
from controller_client.common.text import counted_text
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.minion import MINION, EngineContext
from minion_tasks.file_ingestion.report.counts import clock_text
from minion_tasks.file_ingestion.run.trigger import RunTools
from minion_tasks.file_ingestion.session.column_notes import DifferingColumn
from minion_tasks.file_ingestion.session.progress import SessionProgress
from minion_tasks.sources.base import SourceVersion
from pinotctl.context import CliContext
from pinotctl.output import Progress

__all__ = [
    "column_fields",
    "describe_next",
    "lock_wait_option",
    "now_ms",
    "read_period",
    "run_tools",
    "running",
    "servers_behind",
    "show_progress",
    "version_fields",
]


def run_tools(
    cli: CliContext, progress: Progress | None = None, *, conf: Mapping[str, str] | None = None
) -> RunTools:
    """Create the tools for runs on this cluster.

    Args:
        cli: The command's context.
        progress: Displays the progress of a run.
        conf: Spark configuration, for tables whose engine is ``spark``.
    """
    clock, store = SystemClock(), cli.property_store()

    def on_progress(now: SessionProgress) -> None:
        if progress is not None:
            show_progress(progress, now)

    engine = cli.default_engine() or MINION
    engines = Engines.installed(EngineContext(cli.client(), store, clock, conf or {}, engine))
    return RunTools(cli.client(), store, engines, clock, on_progress)


def show_progress(progress: Progress, now: SessionProgress) -> None:
    """Show the progress of a session."""
    session = now.session
    failed = f", {now.failed} failed" if now.failed else ""
    text = f"{session.state} {now.rows:,} rows, {now.bytes_read:,} of {session.total_bytes:,} bytes{failed}"
    progress.update(done=now.staged + now.failed, total=session.files, text=text)


def servers_behind(behind: Sequence[tuple[str, int]], *, as_text: bool) -> Any:
    """Return how many new segments each server lacked when a run continued; as text, None if none did."""
    if not as_text:
        return dict(behind)
    return ", ".join(f"{server} ({counted_text(count, 'segment')})" for server, count in behind) or None


def version_fields(version: SourceVersion | None) -> dict[str, Any]:
    """Return the record fields of the version of a lakehouse table; none for a folder of files."""
    if version is None:
        return {}
    return {"source_version": version.id, "source_committed": clock_text(version.committed_ms)}


def column_fields(columns: Sequence[DifferingColumn], *, as_text: bool) -> dict[str, Any]:
    """Return the record fields that show how the columns of files differ from the table's.

    Args:
        columns: The differing columns.
        as_text: Format them for display, and omit empty fields.
    """
    kinds = {
        "missing_columns": [column for column in columns if column.is_missing],
        "columns_not_read": [column for column in columns if not column.is_missing],
    }
    if as_text:
        return {
            kind: ", ".join(f"{column.name} ({counted_text(column.files, 'file')})" for column in differing)
            for kind, differing in kinds.items()
            if differing
        }
    return {
        kind: [{"column": c.name, "files": c.files, "first": c.first, "near": c.near} for c in differing]
        for kind, differing in kinds.items()
    }


def running(tools: RunTools, table: TableName) -> str | None:
    """Return who is running the table's task now."""
    holder = tools.lock(table).holder()
    return str(holder) if holder is not None else None


def describe_next(sentence: str, runner: str | None) -> str:
    """Describe what the next trigger does, taking a run in progress into account."""
    return (
        sentence
        if runner is None
        else f"waits for the current run to end; if that run were killed now: {sentence}"
    )


def now_ms() -> int:
    """Return the current time in epoch milliseconds."""
    return int(SystemClock().now() * 1000)


def read_period(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Parse a period such as ``4h`` into seconds; an option callback."""
    try:
        return None if value is None else period_s(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}") from error


lock_wait_option = click.option(
    "--wait-lock",
    "lock_wait_s",
    type=click.FloatRange(min=0),
    default=15.0,
    show_default=True,
    help="Seconds to wait for a run of the table to end. The lock of a killed run expires after 10 s.",
)
