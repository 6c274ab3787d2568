"""Show a table's segment replacements; find and repair what interrupted ones left behind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from controller_client.errors import ConfigError, NotFoundError
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

if TYPE_CHECKING:
    from controller_client.publishing.doctor import Diagnosis

__all__ = ["lineage"]


@click.group(help=__doc__, cls=CommandGroup)
def lineage() -> None:  # noqa: D103  # help is the module's docstring
    pass


@lineage.command(name="list")
@table_argument()
@output_option()
@pass_cli
def list_(cli: CliContext, table_name: str) -> None:
    """List a table's lineage entries, oldest first."""
    name = table_with_type(cli.client(), table_name)
    rows = [
        (
            entry.entry_id,
            entry.state.value,
            datetime.fromtimestamp(entry.timestamp_ms / 1000, UTC).isoformat(timespec="seconds"),
            list(entry.segments_from),
            list(entry.segments_to),
        )
        for entry in cli.client().lineage.list(name)
    ]
    cli.out.table(("entry", "state", "since", "segments_from", "segments_to"), rows)


@lineage.command()
@table_argument("table_names", metavar="[TABLE]...", nargs=-1)
@click.option(
    "--older-than",
    "older_than_s",
    type=click.FloatRange(min=0),
    default=3600.0,
    show_default=True,
    help="Seconds after which an entry in progress counts as stuck; longer than any replacement takes.",
)
@click.option("--repair", "do_repair", is_flag=True, help="Repair what needs no decision by you.")
@dry_run_option
@yes_option
@output_option()
@pass_cli
def doctor(
    cli: CliContext,
    table_names: tuple[str, ...],
    older_than_s: float,
    do_repair: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Find faults in the lineage of tables (of all tables, unless some are named).

    The exit code is 1 if a fault remains, so that you can run it as a check.
    """
    from controller_client.publishing.examine_lineage import examine_lineage

    if dry_run and not do_repair:
        raise ConfigError(
            "--dry-run needs --repair", remedy="leave it out: without --repair nothing is changed anyway"
        )
    client = cli.client()
    named = [table_with_type(client, name) for name in table_names]
    names, table_faults = [], []
    for name in named or client.tables.list_typed():
        try:
            faults = examine_lineage(client, name, older_than_s)
        except NotFoundError:
            if named:
                raise
            continue  # it has been deleted since it was listed
        names.append(name)
        table_faults += [(name, fault) for fault in faults]
    columns = ("table", "entry", "finding", "age_s", "explanation", "advice", "repair")
    cli.out.table(columns, [_row(name, fault) for name, fault in table_faults])
    repairable = [(name, fault) for name, fault in table_faults if fault.repair is not None]
    remaining = len(table_faults)
    if do_repair and repairable and not dry_run:
        confirm(f"Repair {counted_text(len(repairable), 'fault')} at {client.config.url}?", yes=yes)
        remaining -= _repair_all(cli, repairable)
    elif dry_run:
        cli.out.note(f"{len(repairable)} of {len(table_faults)} faults would be repaired.")
    cli.out.note(f"Tables checked: {len(names)}. Remaining faults: {remaining}.")
    if remaining:
        raise click.exceptions.Exit(1)


def _repair_all(cli: CliContext, faults: list[tuple[TableName, Diagnosis]]) -> int:
    from controller_client.publishing.lineage_repair import repair

    for name, fault in faults:
        store = cli.property_store() if fault.repair and fault.repair.load else None
        done = repair(cli.client(), name, fault, store=store)
        if done.load:
            loaded = counted_text(len(done.load), "segment")
            cli.out.note(f"{name}: entry {fault.entry.entry_id}: loaded {loaded}.")
            continue
        reverted = "reverted, " if done.revert else ""
        deleted = counted_text(len(done.delete), "segment")
        cli.out.note(f"{name}: entry {fault.entry.entry_id}: {reverted}deleted {deleted}.")
    return len(faults)


def _row(table: TableName, fault: Diagnosis) -> tuple[object, ...]:
    plan = None
    if fault.repair is not None and fault.repair.load:
        plan = f"load {counted_text(len(fault.repair.load), 'segment')}"
    elif fault.repair is not None:
        deleted = counted_text(len(fault.repair.delete), "segment")
        plan = ("revert, " if fault.repair.revert else "") + f"delete {deleted}"
    return (
        table,
        fault.entry.entry_id,
        fault.finding.value,
        round(fault.age_s),
        fault.explanation,
        fault.advice,
        plan,
    )
