"""``pinotctl deepstore enable``."""

from __future__ import annotations

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.commands.deepstore.planned import finish
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import dry_run_option, output_option, yes_option
from controller_client.deepstore.enable import plan_enable
from controller_client.deepstore.policy import StorePolicy
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
@click.option(
    "--policy",
    "policy_name",
    type=click.Choice([str(each) for each in StorePolicy]),
    default=StorePolicy.STORE.value,
    show_default=True,
    help="Where copies of committed segments are to be: in the deep store too, or on servers alone, for a "
    "cluster without a store.",
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def enable(cli: CliContext, table_name: str, scheme: str, policy_name: str, dry_run: bool, yes: bool) -> None:
    """Let a realtime table commit while the deep store is away, or without one.

    What must agree is checked first: the table, the controller, and each server of the table. Exit
    code 1 when something of it is wrong; then nothing is changed.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    with ServerAdmins(client, RateLimit(_RATE)) as servers:
        planned = plan_enable(client, servers, table, scheme, StorePolicy(policy_name))
    after = "Changed. Segments that start consuming from now on commit without the store."
    finish(cli, planned, after, dry_run=dry_run, yes=yes)
