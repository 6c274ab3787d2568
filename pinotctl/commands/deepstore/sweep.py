"""``pinotctl deepstore sweep``."""

from __future__ import annotations

import click

from controller_client.common.counted_text import counted_text
from controller_client.common.visible_text import visible
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.sweep import DEFAULT_MAX_SHARE
from pinotctl.commands.deepstore.options import (
    check_owner,
    named_tables,
    store_option,
    sweeper,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

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
@click.option(
    "--max-share",
    "max_share_percent",
    metavar="PERCENT",
    type=click.FloatRange(min=0, max=100),
    default=100 * DEFAULT_MAX_SHARE,
    show_default=True,
    help="Leave a table alone if more of the objects in its folder are named after segments that the cluster "
    "has no record of.",
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
    max_share_percent: float,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete what commits and late uploads left in the store (for all tables, unless some are named).

    That is temporary objects of segments whose URL points elsewhere, and uploads of deleted segments. Before
    the first deletion, the store gets the mark of this cluster; a store with the mark of another cluster is
    refused. The exit code is 1 if a table was left alone because of --max-share.
    """
    layout = StoreLayout.of(cli.client(), store_uri)
    check_owner(cli, layout)
    store_sweeper = sweeper(cli, layout, min_age_h, max_share=max_share_percent / 100)
    folders = list(store_sweeper.find(named_tables(cli, table_names) or cli.client().tables.list_typed()))
    kept = {each.table: why for each in folders if (why := store_sweeper.why_kept(each)) is not None}
    swept = [each for each in folders if each.table not in kept]
    due = [leftover for each in swept for leftover in each.leftovers]
    if due and not dry_run:
        size_bytes = sum(each.size_bytes for each in due)
        what = f"{counted_text(len(due), 'object')} ({size_bytes:,} bytes) in {visible(layout.root)}"
        confirm(f"Delete {what} that no segment of {cli.property_store().cluster_name} needs?", yes=yes)
    deleted = set() if dry_run else {one.uri for each in swept for one in store_sweeper.delete(each)}
    found = [leftover for each in folders for leftover in each.leftovers]
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
    for why in kept.values():
        cli.out.note(f"Left alone: {why}. If the store is this cluster's, pass --max-share 100.")
    if kept:
        raise click.exceptions.Exit(1)
