"""List the tenants of the cluster."""

from __future__ import annotations

import click

from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import output_option

__all__ = ["tenant"]


@click.group(help=__doc__)
def tenant() -> None:  # noqa: D103  # help is the module's docstring
    pass


@tenant.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the tenants, by what they serve."""
    tenants = cli.client().tenants.list()
    rows = [("broker", name) for name in tenants.broker] + [("server", name) for name in tenants.server]
    cli.out.table(("role", "tenant"), rows)
