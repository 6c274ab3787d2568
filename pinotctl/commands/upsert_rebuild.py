"""``pinotctl upsert rebuild``: have the key coordinator rebuild its state from the whole input."""

from __future__ import annotations

import click

from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["rebuild"]


@click.command()
@table_argument()
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    show_default="unchanged",
    help="Engine spark: partitions of the new state.",
)
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    show_default="unchanged",
    help="Engine spark: key buckets of the new state.",
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
    """Have the key coordinator rebuild its state, e.g. with other numbers of partitions or buckets.

    A running coordinator starts at once, a stopped one at its next start. Until the new state has caught up,
    queries see the table as it was.
    """
    from controller_client.upsert.generation import next_request, request_rebuild

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
        text = f"Would request generation {request.number} of {table}, which reads its whole input again."
        cli.out.result(text, record)
        return
    confirm(f"Read the whole input of {table} again?", yes=yes)
    request = request_rebuild(store, table, partitions=partitions, buckets=buckets)
    cli.out.result(
        f"Requested generation {request.number} of {table}.", {**record, "generation": request.number}
    )
