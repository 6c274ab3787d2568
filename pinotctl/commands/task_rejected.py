"""``pinotctl task publish`` and ``pinotctl task discard``: decide about a session that its checks reject."""

from __future__ import annotations

import click

from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from minion_tasks.file_ingestion.params.registration import offline_table
from minion_tasks.file_ingestion.report.counts import read_report
from minion_tasks.file_ingestion.run.rejected import discard_rejected, publish_rejected, rejected_session
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.store import SessionStore
from pinotctl.commands.task_report import show_report
from pinotctl.commands.task_tools import lock_wait_option, run_tools
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["discard", "publish"]

_SESSION = click.option(
    "--session", "session_id", metavar="ID", help="The session that you mean; default: the rejected one."
)


@click.command()
@table_argument("table")
@click.option("--accept", is_flag=True, required=True, help="Publish although checks failed.")
@_SESSION
@lock_wait_option
@yes_option
@dry_run_option
@output_option()
@pass_cli
def publish(
    cli: CliContext,
    table: str,
    accept: bool,
    session_id: str | None,
    lock_wait_s: float,
    yes: bool,
    dry_run: bool,
) -> None:
    """Publish what a rejected session has staged, in spite of the checks.

    The table gets what was staged and checked then; files that were added since are read by the next run.
    """
    tools, name = run_tools(cli), offline_table(cli.client(), table)
    session_id = _described(cli, tools, name, session_id)
    if dry_run:
        record = {"table": name, "session": session_id, "changed": False, "dry_run": True}
        cli.out.result(f"session {session_id} of {name} would be published", record)
        return
    confirm(f"Publish session {session_id} of {name}?", yes=yes)
    show_report(cli, publish_rejected(tools, table, session_id, lock_wait_s=lock_wait_s))


@click.command()
@table_argument("table")
@_SESSION
@lock_wait_option
@yes_option
@dry_run_option
@output_option()
@pass_cli
def discard(
    cli: CliContext, table: str, session_id: str | None, lock_wait_s: float, yes: bool, dry_run: bool
) -> None:
    """Delete what a rejected session has staged; the next run reads the source again."""
    tools, name = run_tools(cli), offline_table(cli.client(), table)
    session_id = _described(cli, tools, name, session_id)
    record = {"table": name, "session": session_id, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"session {session_id} of {name} would be discarded", record)
        return
    confirm(f"Discard session {session_id} of {name}?", yes=yes)
    discard_rejected(tools, table, session_id, lock_wait_s=lock_wait_s)
    cli.out.result(f"session {session_id} of {name} is discarded", record)


def _described(cli: CliContext, tools: RunTools, name: TableName, session_id: str | None) -> str:
    """Say what is staged and which checks failed; return the id of the session."""
    sessions = SessionStore(tools.store, name)
    session = rejected_session(sessions, session_id)
    report = read_report(sessions, session, failures=0, names=0)
    staged = f"{counted_text(report.rows, 'row')} in {counted_text(report.segments, 'segment')}"
    replaces = counted_text(report.replaced or 0, "segment")
    cli.out.note(f"session {session.session_id} of {name}: {staged} staged, to replace {replaces}")
    cli.out.note(session.message or "")
    return session.session_id
