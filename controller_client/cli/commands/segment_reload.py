"""``pinotctl segment reload``: let servers load a segment again."""

from __future__ import annotations

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import segment_argument, table_argument
from controller_client.cli.options import output_option

__all__ = ["reload"]


@click.command()
@table_argument()
@segment_argument("segment_names", metavar="SEGMENT...", nargs=-1, required=True)
@click.option(
    "--download",
    is_flag=True,
    help="All servers fetch it from the deep store again, also those whose check sum is right; before "
    "Pinot 1.5 of OFFLINE tables alone.",
)
@output_option()
@pass_cli
def reload(cli: CliContext, table_name: str, segment_names: tuple[str, ...], download: bool) -> None:
    """Let the servers that have segments load them again; queries go on meanwhile.

    A server that has another version of a segment than its metadata names fetches it from the deep store. The
    command returns when the servers have been asked: `pinotctl deepstore audit` shows what became of it.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    for name in segment_names:
        client.segments.reload_segment(table, name, download=download)
        cli.out.note(f"The servers of {table} are asked to load {name} again.")
    if cli.out.is_json:
        cli.out.json({"table": table, "segments": list(segment_names), "download": download})
