"""``pinotctl deepstore enable``."""

from __future__ import annotations

import click

from controller_client.deepstore.enable import plan_enable
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.servers import ServerAdmins
from pinotctl.arguments import table_with_type
from pinotctl.commands.deepstore.planned import finish
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import dry_run_option, output_option, yes_option

__all__ = ["enable"]

_RATE = 50.0


@click.command()
@table_argument()
@click.option(
    "--scheme",
    type=click.Choice(["http", "https"]),
    default="http",
    show_default=True,
    help="Scheme by which servers download segments from each other.",
)
@click.option(
    "--policy",
    "policy_name",
    type=click.Choice([str(each) for each in StorePolicy]),
    default=StorePolicy.STORE.value,
    show_default=True,
    help="Where committed segments must have copies: in the deep store too, or only on servers (for a "
    "cluster without a store).",
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def enable(cli: CliContext, table_name: str, scheme: str, policy_name: str, dry_run: bool, yes: bool) -> None:
    """Let a realtime table commit while the deep store is unavailable, or without a deep store.

    The settings of the table, the controller and each of the table's servers are checked first. If one is
    wrong, nothing is changed and the exit code is 1.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    with ServerAdmins(client, RateLimit(_RATE)) as servers:
        planned = plan_enable(client, servers, table, scheme, StorePolicy(policy_name))
    after = "Changed. Segments that start consuming from now on commit without the store."
    finish(cli, planned, after, dry_run=dry_run, yes=yes)
