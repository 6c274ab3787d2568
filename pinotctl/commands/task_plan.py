"""``pinotctl task plan`` and ``pinotctl task purge``: preview the next trigger, delete replaced segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from controller_client.common.text import counted_text
from minion_tasks.file_ingestion.params.registration import load_params, load_params_to_run, offline_table
from minion_tasks.file_ingestion.run.preview import FirstAction, Preview, preview
from minion_tasks.file_ingestion.run.purge import check_purgeable
from minion_tasks.file_ingestion.run.purge import purge as purge_replaced
from minion_tasks.file_ingestion.session.store import SessionStore
from pinotctl.commands.task_tools import (
    describe_next,
    lock_wait_option,
    now_ms,
    read_period,
    run_tools,
    running,
    version_fields,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["plan", "purge"]


@click.command()
@table_argument("table")
@click.option(
    "--files",
    "listed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Maximum number of files to list of each kind (new, changed, ...).",
)
@output_option()
@pass_cli
def plan(cli: CliContext, table: str, listed: int) -> None:
    """Show what the next trigger would do, without doing it."""
    name = offline_table(cli.client(), table)
    params = load_params_to_run(cli.client(), name)
    tools = run_tools(cli)
    sessions = SessionStore(tools.store, name)
    forecast = preview(tools, sessions, params, name)
    runner = running(tools, name)
    unread = None
    if forecast.fate is not None and forecast.next.action is FirstAction.RESUME:
        unread = forecast.not_staged
    record: dict[str, Any] = {
        "table": name,
        "mode": params.mode.value,
        "atomic": params.atomic,
        "running": runner,
        "next_action": forecast.next.action.value,
        "next_trigger": describe_next(forecast.next.sentence(params, unread), runner),
        **_counts(forecast),
    }
    lists = _lists(forecast, listed)
    if cli.out.is_json:
        cli.out.json({**record, **({"lists": lists} if listed else {})})
        return
    cli.out.record({key: _as_text(value) for key, value in record.items() if value is not None})
    rows = [(kind, name) for kind, names in lists.items() for name in names]
    if rows:
        cli.out.note("")
        cli.out.table(("what", "file_or_segment"), rows)


@click.command()
@table_argument("table")
@click.option(
    "--older-than",
    "older_than_s",
    metavar="PERIOD",
    callback=read_period,
    help="Delete segments replaced longer ago than this, e.g. 30m, 4h, 1d; default:"
    " replacedSegmentsRetentionPeriod of the task.",
)
@lock_wait_option
@yes_option
@dry_run_option
@output_option()
@pass_cli
def purge(
    cli: CliContext, table: str, older_than_s: int | None, lock_wait_s: float, yes: bool, dry_run: bool
) -> None:
    """Delete segments that the task has replaced; queries no longer read them.

    A query that began before the switch may still read them, and a switch can be reverted only while they
    exist.
    """
    name = offline_table(cli.client(), table)
    if older_than_s is None:
        older_than_s = load_params(cli.client(), name).purge_after_s
    tools = run_tools(cli)
    check_purgeable(tools.client, name)

    def purged(dry_run: bool) -> list[str]:
        return purge_replaced(
            tools.client, tools.store, name, now_ms=now_ms(), older_than_s=older_than_s, dry_run=dry_run
        )

    names = purged(dry_run=True)
    if names and not dry_run:
        confirm(f"Delete {counted_text(len(names), 'replaced segment')} of {name}?", yes=yes)
        with tools.lock(name) as lock:
            lock.acquire(lock_wait_s)
            names = purged(dry_run=False)
    cli.out.table(("segment",), [(each,) for each in names])
    verb = "to be deleted" if dry_run else "deleted"
    found = counted_text(len(names), "replaced segment")
    cli.out.note(f"{name}: {found} {verb}" if names else f"{name}: nothing to purge")


def _counts(forecast: Preview) -> dict[str, Any]:
    diff = forecast.view.plan.diff
    return {
        "source": {
            "files": len(forecast.view.listed),
            "new": len(diff.new),
            "changed": len(diff.changed),
            "deleted": len(diff.deleted),
            "unchanged": len(diff.unchanged),
            "left_out_by_patterns": forecast.view.by_patterns.files,
            "left_out_as_hidden": forecast.view.hidden.files,
        },
        **version_fields(forecast.view.version),
        **({"version_rows": forecast.view.source_rows} if forecast.view.version else {}),
        "session": forecast.next.session.session_id if forecast.fate and forecast.next.session else None,
        "session_files": forecast.fate.counts() if forecast.fate else None,
        "files_to_read": len(forecast.to_read),
        "bytes_to_read": forecast.bytes_to_read,
        "subtasks": forecast.subtasks,
        "replaced_segments": len(forecast.replaced),
        "conflict": forecast.conflict,
    }


def _lists(forecast: Preview, most: int) -> dict[str, Sequence[str]]:
    diff = forecast.view.plan.diff
    lists: dict[str, list[str]] = {
        "new": [file.uri for file in diff.new],
        "changed": [file.uri for file in diff.changed],
        "deleted": list(diff.deleted),
        "unchanged": [file.uri for file in diff.unchanged],
    }
    for uri, fate in forecast.fate.files if forecast.fate else ():
        lists.setdefault(f"session_{fate}", []).append(uri)
    lists["left_out"] = [file.uri for file in forecast.view.by_patterns.first]
    lists["hidden"] = [file.uri for file in forecast.view.hidden.first]
    lists["to_read"] = [file.uri for file in forecast.to_read]
    lists["replaced_segment"] = list(forecast.replaced)
    return {kind: names[:most] for kind, names in lists.items()}


def _as_text(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in value.items())
    return value
