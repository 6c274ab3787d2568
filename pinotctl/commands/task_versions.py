"""``pinotctl task versions``, ``rollback`` and ``follow``: return to an earlier version of a table."""

from __future__ import annotations

from typing import Any

import click

from controller_client.common.text import counted_text
from minion_tasks.file_ingestion.params.registration import offline_table
from minion_tasks.file_ingestion.report.counts import clock_text
from minion_tasks.file_ingestion.run.rollback import (
    TableVersion,
    roll_back,
    table_versions,
    version_of,
)
from minion_tasks.file_ingestion.run.rollback import (
    follow as follow_source,
)
from pinotctl.commands.task_report import show_report
from pinotctl.commands.task_tools import lock_wait_option, run_tools
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["follow", "rollback", "versions"]

_COLUMNS = (
    *("version", "published", "state", "source_version"),
    *("rows_added", "segments_added", "segments_replaced", "rolled_back_to"),
)


@click.command()
@table_argument("table")
@output_option()
@pass_cli
def versions(cli: CliContext, table: str) -> None:
    """List the versions that the table has had and may return to, newest first.

    How many there are is set by the task's parameter keepVersions.
    """
    tools, name = run_tools(cli), offline_table(cli.client(), table)
    listed = table_versions(tools, table)
    cli.out.table(_COLUMNS, [_row(version) for version in reversed(listed)])
    if not listed:
        cli.out.note(f"{name} has no version yet")
    elif listed[-1].session.held:
        cli.out.note(_held(name))


@click.command()
@table_argument("table")
@click.option("--to", "version_id", metavar="VERSION", required=True, help="A version of 'task versions'.")
@lock_wait_option
@yes_option
@dry_run_option
@output_option()
@pass_cli
def rollback(
    cli: CliContext, table: str, version_id: str, lock_wait_s: float, yes: bool, dry_run: bool
) -> None:
    """Return to an earlier version of the table, in one step.

    What later runs have added goes, what they have replaced comes back; segments of other writers stay. The
    task does not run until 'pinotctl task follow'.
    """
    tools, name = run_tools(cli), offline_table(cli.client(), table)
    version = version_of(table_versions(tools, table), version_id)
    effect = _effect(version)
    if dry_run:
        text = f"{name} would return to version {version_id}: {effect['text']}"
        cli.out.result(text, {"table": name, "version": version_id, **effect["counts"], "dry_run": True})
        return
    confirm(f"Return to version {version_id} of {name} ({effect['text']})?", yes=yes)
    report = roll_back(tools, table, version_id, lock_wait_s=lock_wait_s)
    show_report(cli, report)
    cli.out.note(_held(name))


@click.command()
@table_argument("table")
@lock_wait_option
@output_option()
@dry_run_option
@pass_cli
def follow(cli: CliContext, table: str, lock_wait_s: float, dry_run: bool) -> None:
    """Have the task of a table that was rolled back follow its source again, from the next run on."""
    tools, name = run_tools(cli), offline_table(cli.client(), table)
    if dry_run:
        listed = table_versions(tools, table)
        session = listed[-1].session if listed and listed[-1].session.held else None
    else:
        session = follow_source(tools, table, lock_wait_s=lock_wait_s)
    record = {
        "table": name,
        "rolled_back_to": session.restores if session else None,
        "changed": session is not None and not dry_run,
        "dry_run": dry_run,
    }
    if session is None:
        cli.out.result(f"{name} was not rolled back: its task follows its source", record)
        return
    would = "would follow its source again" if dry_run else "follows its source again"
    cli.out.result(f"the task of {name} {would}; it was at version {session.restores}", record)


def _row(version: TableVersion) -> tuple[object, ...]:
    session = version.session
    state = "current" if version.is_current else "kept"
    if version.not_kept:
        state = f"{counted_text(version.not_kept, 'segment')} missing"
    source = session.source_version
    return (
        session.session_id,
        clock_text(session.updated_ms),
        state,
        source.id if source else None,
        version.rows,
        version.added,
        version.replaced,
        session.restores,
    )


def _effect(version: TableVersion) -> dict[str, Any]:
    restored, removed = len(version.rollback.restored), len(version.rollback.removed)
    return {
        "text": f"{counted_text(restored, 'segment')} back ({version.restored_bytes:,} bytes),"
        f" {counted_text(removed, 'segment')} removed",
        "counts": {
            "restored_segments": restored,
            "restored_bytes": version.restored_bytes,
            "removed_segments": removed,
        },
    }


def _held(name: str) -> str:
    return f"the task of {name} does not run until 'pinotctl task follow {name}'"
