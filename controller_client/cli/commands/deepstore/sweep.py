"""``pinotctl deepstore sweep``."""

from __future__ import annotations

import click

from controller_client.cli.commands.deepstore.options import named_tables, store_option, sweeper
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import confirm, dry_run_option, output_option, yes_option
from controller_client.common.counted_text import counted_text

__all__ = ["sweep"]

_COLUMNS = ("table", "segment", "kind", "uri", "size_bytes", "age_s", "deleted")


@click.command()
@table_argument("table_names", metavar="[TABLE]...", nargs=-1)
@store_option
@click.option(
    "--min-age",
    "min_age_h",
    metavar="HOURS",
    type=click.FloatRange(min=0),
    default=24.0,
    show_default=True,
    help="Keep objects that are younger than this.",
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def sweep(
    cli: CliContext,
    table_names: tuple[str, ...],
    store_uri: str | None,
    min_age_h: float,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete what commits and late uploads left in the store (for all tables, unless some are named).

    That is temporary objects of segments whose URL points elsewhere, and uploads of deleted segments.
    """
    store_sweeper = sweeper(cli, store_uri, min_age_h)
    found = list(store_sweeper.find(named_tables(cli, table_names) or cli.client().tables.list_typed()))
    if found and not dry_run:
        size_bytes = sum(each.size_bytes for each in found)
        what = counted_text(len(found), "object")
        confirm(f"Delete {what} ({size_bytes:,} bytes) that no segment needs?", yes=yes)
    deleted = set() if dry_run else {each.uri for each in store_sweeper.delete(found)}
    rows = [
        (
            each.table,
            each.segment,
            each.kind.value,
            each.uri,
            each.size_bytes,
            int(each.age_s),
            each.uri in deleted,
        )
        for each in found
    ]
    cli.out.table(_COLUMNS, rows)
    cli.out.note(f"Found {counted_text(len(found), 'object')} that no segment needs; deleted {len(deleted)}.")
