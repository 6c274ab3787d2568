"""``pinotctl upsert rebuild``: have the key coordinator read its input again, into a new state."""

from __future__ import annotations

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["rebuild"]


@click.command()
@table_argument()
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="Engine spark: parts of the new state; default: as it is.",
)
@click.option(
    "--buckets", type=click.IntRange(min=1), help="Engine spark: buckets of keys; default: as it is."
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def rebuild(
    cli: CliContext,
    table_name: str,
    partitions: int | None,
    buckets: int | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Ask the key coordinator for a new state, also to change its number of partitions or buckets.

    A running coordinator begins at once, another one at its next start. Queries see the table as it was until
    the new state has caught up.
    """
    from controller_client.coordinator.generation import next_request, request_rebuild

    table = table_with_type(cli.client(), table_name)
    store = cli.property_store()
    request = next_request(store, table, partitions=partitions, buckets=buckets)
    record = {
        "table": table,
        "generation": request.number,
        "partitions": partitions,
        "buckets": buckets,
        "changed": not dry_run,
        "dry_run": dry_run,
    }
    if dry_run:
        would = f"Generation {request.number} of {table} would be requested: its whole input is read again."
        cli.out.result(would, record)
        return
    confirm(f"Read the whole input of {table} again?", yes=yes)
    request = request_rebuild(store, table, partitions=partitions, buckets=buckets)
    cli.out.result(
        f"Generation {request.number} of {table} is requested.", {**record, "generation": request.number}
    )
