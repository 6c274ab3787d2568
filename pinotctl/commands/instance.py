"""List, show, tag, enable, disable and drop instances: controllers, brokers, servers, minions."""

from __future__ import annotations

import click

from pinotctl.commands.instance_changes import INSTANCE_CHANGES, known_instance
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import instance_argument
from pinotctl.options import output_option

__all__ = ["instance"]


@click.group(help=__doc__, cls=CommandGroup)
def instance() -> None:  # noqa: D103  # help is the module's docstring
    pass


@instance.command(name="list")
@click.option("--live", is_flag=True, help="Also show whether each one is connected now.")
@output_option()
@pass_cli
def list_(cli: CliContext, live: bool) -> None:
    """List the registered instances."""
    api = cli.client().instances
    instances = [each for name in api.list() if (each := api.find(name)) is not None]
    columns = ["instance", "host", "port", "enabled", "tags"]
    rows = [[each.name, each.host, each.port, each.enabled, list(each.tags)] for each in instances]
    if live:
        connected = set(api.live())
        columns.append("live")
        rows = [[*row, row[0] in connected] for row in rows]
    cli.out.table(columns, rows)


@instance.command()
@instance_argument()
@output_option()
@pass_cli
def show(cli: CliContext, name: str) -> None:
    """Show what Pinot reports about an instance."""
    cli.out.record(known_instance(cli, name).details)


for _command in INSTANCE_CHANGES:
    instance.add_command(_command)
