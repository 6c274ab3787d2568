"""Move the segments of a table to the servers that its config and its tenant ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import confirm, dry_run_option, output_option, wait_options, yes_option
from controller_client.common.counted_text import counted_text

if TYPE_CHECKING:
    from controller_client.rest.rebalance_plan import RebalancePlan

__all__ = ["REBALANCES"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TABLE = table_argument()
_MOST_MOVES = 20
_SERVER_COLUMNS = ("server", "segments_before", "segments_after", "added", "removed", "added_bytes")


def _rebalance_options(command: _Command) -> _Command:
    options = (
        click.option(
            "--reassign-instances/--keep-instances",
            "reassign_instances",
            default=None,
            help="Choose the table's servers anew first; default: the version's own (since Pinot 1.4 yes).",
        ),
        click.option(
            "--include-consuming/--leave-consuming",
            "include_consuming",
            default=None,
            help="Move consuming segments too; default: the version's own (since Pinot 1.4 yes).",
        ),
        click.option("--bootstrap", is_flag=True, help="Assign all segments anew, whatever moves."),
        click.option(
            "--downtime", is_flag=True, help="Change all at once: segments are away until they are loaded."
        ),
        click.option(
            "--min-available-replicas",
            type=int,
            metavar="N",
            help="Replicas of a segment that stay there all the time; less than 0: that many may be away.",
        ),
        click.option(
            "--best-efforts",
            is_flag=True,
            help="Go on where a segment is in ERROR, or does not load in time.",
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
    """Move segments to the servers that the table's config and its tenant's servers ask for.

    What would move is shown first, on stderr with --output json, before anything is asked or done. Without
    --downtime, Pinot moves them step by step, and every segment stays queryable.
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
            f"{table} is balanced already: nothing moves."
            if plan.is_noop
            else f"{table} would be rebalanced.",
            {**record, "finished": plan.is_noop},
        )
        return
    confirm(f"Rebalance {table} at {client.config.url}{', with downtime' if downtime else ''}?", yes=yes)
    started = client.rebalance.start(table, options)
    record = {**record, "job": started.job_id, "changed": started.status != "NO_OP"}
    if started.job_id:
        cli.out.note(f"The rebalance has begun: job {started.job_id}.")
    if not wait:
        cli.out.result(_how_far(table, started.job_id), record)
        return
    with cli.out.progress(f"Rebalancing {table}", total=len(started.target), unit="segments") as progress:
        client.rebalance.wait(
            started, timeout_s, seen=lambda done, total: progress.update(done=done, total=total)
        )
    cli.out.result(
        f"{table} is rebalanced: {counted_text(plan.added, 'replica')} were fetched, {plan.removed} dropped.",
        {**record, "finished": True},
    )


@click.command(name="rebalance-status")
@click.argument("job_id", metavar="JOB")
@output_option()
@pass_cli
def rebalance_status(cli: CliContext, job_id: str) -> None:
    """Show how far a rebalance is (Pinot 1.0 and later); JOB is what 'table rebalance' names."""
    found = cli.client().rebalance.status(job_id)
    cli.out.record(
        {
            "job": found.job_id,
            "status": found.status,
            "message": found.message,
            "elapsed_s": found.elapsed_s,
            "took_s": found.took_s,
            "replicas_to_add": found.to_add,
            "replicas_left_to_add": found.left_to_add,
            "replicas_to_remove": found.to_remove,
            "replicas_left_to_remove": found.left_to_remove,
        }
    )


@click.command(name="rebalance-cancel")
@_TABLE
@dry_run_option
@output_option()
@pass_cli
def rebalance_cancel(cli: CliContext, table_name: str, dry_run: bool) -> None:
    """Stop the rebalances of a table (Pinot 1.1 and later); what has moved stays where it is."""
    from controller_client.rest.capabilities import Capability

    client = cli.client()
    table = table_with_type(client, table_name)
    record: dict[str, Any] = {"table": table, "jobs": [], "changed": False, "dry_run": dry_run}
    if dry_run:
        client.cluster.capabilities().require(Capability.REBALANCE_CANCEL)
        cli.out.result(f"The rebalances of {table} that go on would be stopped.", record)
        return
    jobs = client.rebalance.cancel(table)
    said = f"Stopped: {', '.join(jobs)}." if jobs else f"No rebalance of {table} goes on."
    cli.out.result(said, {**record, "jobs": jobs, "changed": bool(jobs)})


def _how_far(table: str, job_id: str | None) -> str:
    if job_id is None:
        return f"See how far it is by 'pinotctl table state {table} --differences'."
    return f"See how far it is by 'pinotctl table rebalance-status {job_id}'."


def _show_plan(cli: CliContext, plan: RebalancePlan) -> None:
    rows = [
        (each.server, each.before, each.after, each.added, each.removed, each.added_bytes)
        for each in plan.servers
    ]
    if not cli.out.is_json:
        cli.out.table(_SERVER_COLUMNS, rows)
    for move in plan.moves[:_MOST_MOVES]:
        cli.out.note(
            f"{move.segment}: {', '.join(move.removed) or 'nowhere'} -> {', '.join(move.added) or 'nowhere'}"
        )
    if len(plan.moves) > _MOST_MOVES:
        cli.out.note(f"... and {len(plan.moves) - _MOST_MOVES:,} more; --output json has all.")
    cli.out.note(
        f"{len(plan.moves):,} of {counted_text(len(plan.target), 'segment')} change servers: "
        f"{counted_text(plan.added, 'replica')} to fetch ({plan.added_bytes:,} bytes), {plan.removed:,} to "
        "drop."
    )
    if plan.sizes_unknown:
        cli.out.note(f"The size of {counted_text(plan.sizes_unknown, 'segment')} of these is not known.")
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
                    (each.server, each.before, each.after, each.added, each.removed, each.added_bytes),
                    strict=True,
                )
            )
            for each in plan.servers
        ],
        "checks": [
            {"name": check.name, "status": check.status, "message": check.message} for check in plan.checks
        ],
    }


REBALANCES = (rebalance, rebalance_status, rebalance_cancel)
