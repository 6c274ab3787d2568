"""``pinotctl deepstore disable``."""

from __future__ import annotations

import click

from controller_client.deepstore.disable import plan_disable
from controller_client.segment_tar import TarLimits
from pinotctl.arguments import table_with_type
from pinotctl.commands.deepstore.options import auditor, inspect_options
from pinotctl.commands.deepstore.planned import finish
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import dry_run_option, output_option, yes_option

__all__ = ["disable"]


@click.command()
@table_argument()
@inspect_options
@dry_run_option
@yes_option
@output_option()
@pass_cli
def disable(
    cli: CliContext,
    table_name: str,
    store_uri: str | None,
    read_tars: bool,
    rate: float,
    limits: TarLimits,
    dry_run: bool,
    yes: bool,
) -> None:
    """Make a realtime table commit through the deep store again; undoes enable.

    Without peer download, servers can get a segment from the store only. The command is therefore refused,
    with exit code 1, while a committed segment has no good copy there or a server could not download it.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    opened = auditor(cli, store_uri, read_tars=read_tars, rate=rate, limits=limits)
    with opened as (segment_auditor, servers):
        planned = plan_disable(client, servers, segment_auditor, table)
    after = "Changed. Segments that start consuming from now on commit through the store."
    finish(cli, planned, after, dry_run=dry_run, yes=yes)
