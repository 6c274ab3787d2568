"""Move a table's segments to the servers that its config and tenant require."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.common.text import counted_text
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, wait_options, yes_option

if TYPE_CHECKING:
    from controller_client.rest.rebalance_plan import RebalancePlan

__all__ = ["REBALANCES"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TABLE = table_argument()
_MAX_MOVES = 20
_SERVER_COLUMNS = ("server", "segments_before", "segments_after", "added", "removed", "added_bytes")


def _rebalance_options(command: _Command) -> _Command:
    options = (
        click.option(
            "--reassign-instances/--keep-instances",
            "reassign_instances",
            default=None,
            show_default="yes in Pinot 1.4 and later, else no",
            help="Recompute which servers the table uses first, or keep them.",
        ),
        click.option(
            "--include-consuming/--leave-consuming",
            "include_consuming",
            default=None,
            show_default="yes in Pinot 1.4 and later, else no",
            help="Move consuming segments too, or leave them.",
        ),
        click.option(
            "--bootstrap", is_flag=True, help="Reassign all segments from scratch, however many move."
        ),
        click.option(
            "--downtime",
            is_flag=True,
            help="Move everything at once: segments are unavailable until new servers have loaded them.",
        ),
        click.option(
            "--min-available-replicas",
            type=int,
            metavar="N",
            help="Replicas of a segment that must stay available; if negative, how many may be unavailable.",
        ),
        click.option(
            "--best-efforts",
            is_flag=True,
            help="Continue even if a segment is in ERROR or does not load in time.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_TABLE
@_rebalance_options
@wait_options("the servers have the segments", timeout_s=3600.0)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def rebalance(
    cli: CliContext,
    table_name: str,
    reassign_instances: bool | None,
    include_consuming: bool | None,
    bootstrap: bool,
    downtime: bool,
    min_available_replicas: int | None,
    best_efforts: bool,
    wait: bool,
    timeout_s: float,
    dry_run: bool,
    yes: bool,
) -> None:
    """Move a table's segments to the servers that its config and tenant require.

    The command first shows what would move (on stderr with --output json), then asks. Without --downtime,
    Pinot moves segments step by step, and every segment stays queryable.
    """
    from controller_client.rest.rebalance import RebalanceOptions

    client = cli.client()
    table = table_with_type(client, table_name)
    options = RebalanceOptions(
        reassign_instances=reassign_instances,
        include_consuming=include_consuming,
        bootstrap=bootstrap,
        downtime=downtime,
        min_available_replicas=min_available_replicas,
        best_efforts=best_efforts,
    )
    plan = client.rebalance.plan(table, options)
    record = {**_plan_json(plan), "job": None, "changed": False, "dry_run": dry_run, "finished": False}
    _show_plan(cli, plan)
    if dry_run or plan.is_noop:
        cli.out.result(
            f"{table} is already balanced: nothing moves."
            if plan.is_noop
            else f"{table} would be rebalanced.",
            {**record, "finished": plan.is_noop},
        )
        return
    confirm(f"Rebalance {table} at {client.config.url}{', with downtime' if downtime else ''}?", yes=yes)
    started = client.rebalance.start(table, options)
    record = {**record, "job": started.job_id, "changed": started.status != "NO_OP"}
    if started.job_id:
        cli.out.note(f"Started the rebalance: job {started.job_id}.")
    if not wait:
        cli.out.result(_progress_hint(table, started.job_id), record)
        return
    with cli.out.progress(f"Rebalancing {table}", total=len(started.target), unit="segments") as progress:
        client.rebalance.wait(
            started, timeout_s, seen=lambda done, total: progress.update(done=done, total=total)
        )
    cli.out.result(
        f"Rebalanced {table}: {counted_text(plan.added, 'replica')} fetched, {plan.removed:,} dropped.",
        {**record, "finished": True},
    )


@click.command(name="rebalance-status")
@click.argument("job_id", metavar="JOB")
@output_option()
@pass_cli
def rebalance_status(cli: CliContext, job_id: str) -> None:
    """Show the progress of a rebalance (Pinot 1.0 and later); JOB is the id that 'table rebalance' prints."""
    progress = cli.client().rebalance.status(job_id)
    cli.out.record(
        {
            "job": progress.job_id,
            "status": progress.status,
            "message": progress.message,
            "elapsed_s": progress.elapsed_s,
            "took_s": progress.took_s,
            "replicas_to_add": progress.to_add,
            "replicas_left_to_add": progress.left_to_add,
            "replicas_to_remove": progress.to_remove,
            "replicas_left_to_remove": progress.left_to_remove,
        }
    )


@click.command(name="rebalance-cancel")
@_TABLE
@dry_run_option
@output_option()
@pass_cli
def rebalance_cancel(cli: CliContext, table_name: str, dry_run: bool) -> None:
    """Stop the rebalances of a table (Pinot 1.1 and later); segments that have moved stay where they are."""
    from controller_client.rest.capabilities import Capability

    client = cli.client()
    table = table_with_type(client, table_name)
    record: dict[str, Any] = {"table": table, "jobs": [], "changed": False, "dry_run": dry_run}
    if dry_run:
        client.cluster.capabilities().require(Capability.REBALANCE_CANCEL)
        cli.out.result(f"Running rebalances of {table} would be stopped.", record)
        return
    jobs = client.rebalance.cancel(table)
    text = f"Stopped: {', '.join(jobs)}." if jobs else f"No rebalance of {table} is running."
    cli.out.result(text, {**record, "jobs": jobs, "changed": bool(jobs)})


def _progress_hint(table: str, job_id: str | None) -> str:
    if job_id is None:
        return f"See its progress with 'pinotctl table state {table} --differences'."
    return f"See its progress with 'pinotctl table rebalance-status {job_id}'."


def _show_plan(cli: CliContext, plan: RebalancePlan) -> None:
    rows = [
        (each.server, each.before, each.after, each.added, each.removed, each.added_bytes)
        for each in plan.servers
    ]
    if not cli.out.is_json:
        cli.out.table(_SERVER_COLUMNS, rows)
    for move in plan.moves[:_MAX_MOVES]:
        cli.out.note(
            f"{move.segment}: {', '.join(move.removed) or '(none)'} -> {', '.join(move.added) or '(none)'}"
        )
    if len(plan.moves) > _MAX_MOVES:
        cli.out.note(f"... and {len(plan.moves) - _MAX_MOVES:,} more; --output json lists all.")
    cli.out.note(
        f"{len(plan.moves):,} of {counted_text(len(plan.target), 'segment')} to move: "
        f"{counted_text(plan.added, 'replica')} to fetch ({plan.added_bytes:,} bytes), {plan.removed:,} to "
        "drop."
    )
    if plan.sizes_unknown:
        cli.out.note(f"The size of {counted_text(plan.sizes_unknown, 'of these segment')} is unknown.")
    if plan.replicas_before != plan.replicas_after:
        cli.out.note(f"Replicas: {plan.replicas_before} -> {plan.replicas_after}.")
    for check in plan.checks:
        if check.status != "PASS":
            cli.out.note(f"Pinot's check {check.name}: {check.status}: {check.message}")


def _plan_json(plan: RebalancePlan) -> dict[str, Any]:
    return {
        "table": plan.table,
        "segments": len(plan.target),
        "replicas_before": plan.replicas_before,
        "replicas_after": plan.replicas_after,
        "replicas_to_add": plan.added,
        "replicas_to_remove": plan.removed,
        "bytes_to_add": plan.added_bytes,
        "sizes_unknown": plan.sizes_unknown,
        "moves": [
            {
                "segment": move.segment,
                "added": list(move.added),
                "removed": list(move.removed),
                "size_bytes": move.size_bytes,
            }
            for move in plan.moves
        ],
        "servers": [
            dict(
                zip(
                    _SERVER_COLUMNS,
                    (
                        server.server,
                        server.before,
                        server.after,
                        server.added,
                        server.removed,
                        server.added_bytes,
                    ),
                    strict=True,
                )
            )
            for server in plan.servers
        ],
        "checks": [
            {"name": check.name, "status": check.status, "message": check.message} for check in plan.checks
        ],
    }


REBALANCES = (rebalance, rebalance_status, rebalance_cancel)
