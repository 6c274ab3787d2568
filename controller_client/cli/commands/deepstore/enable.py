"""``pinotctl deepstore enable``."""

from __future__ import annotations

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import confirm, dry_run_option, output_option, yes_option
from controller_client.deepstore.enable import enable as apply
from controller_client.deepstore.enable import plan
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.servers import ServerAdmins

__all__ = ["enable"]

_RATE = 50.0


@click.command()
@table_argument()
@click.option(
    "--scheme",
    type=click.Choice(["http", "https"]),
    default="http",
    show_default=True,
    help="By which servers fetch segments from each other.",
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def enable(cli: CliContext, table_name: str, scheme: str, dry_run: bool, yes: bool) -> None:
    """Let a realtime table commit while the deep store is away.

    What must agree is checked first: the table, the controller, and each server of the table's tenant. Exit
    code 1 when something of it is wrong; then nothing is changed.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    with ServerAdmins(client, RateLimit(_RATE)) as servers:
        planned = plan(client, servers, table, scheme)
    rows = [(check.where, check.verdict.value, check.text) for check in planned.checks]
    cli.out.table(("where", "verdict", "finding"), rows)
    cli.out.note(
        f"{table}: segmentsConfig.peerSegmentDownloadScheme: {planned.before or '(none)'} -> {planned.after}"
    )
    if planned.wrong:
        cli.out.note("Nothing is changed: fix what is wrong first.")
        raise click.exceptions.Exit(1)
    if planned.before == planned.after:
        cli.out.note("It is set already.")
        return
    if dry_run:
        return
    confirm(f"Change the config of {table} at {client.config.url}?", yes=yes)
    apply(client, planned)
    cli.out.note("Changed. Segments that start consuming from now on commit without the store.")
