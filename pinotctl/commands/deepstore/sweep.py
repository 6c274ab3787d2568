"""``pinotctl deepstore sweep``."""

from __future__ import annotations

import click

from controller_client.common.text import counted_text, visible
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.sweep import DEFAULT_MAX_SHARE
from pinotctl.commands.deepstore.options import (
    check_owner,
    named_tables,
    quarantine_option,
    store_option,
    sweeper,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["sweep"]

_COLUMNS = ("table", "segment", "kind", "uri", "size_bytes", "age_s", "deleted", "moved_to")


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
@quarantine_option
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
    quarantine_days: int,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take away what commits and late uploads left in the store (for all tables, unless some are named).

    That is temporary objects of segments whose URL points elsewhere, and uploads of deleted segments. They
    are moved to the folder .pinot-plugins-quarantine of the store; what has been there for --quarantine-days
    is deleted for good. Before the first change, the store gets the mark of this cluster; a store with the
    mark of another cluster is refused. The exit code is 1 if a table was left alone because of --max-share.
    """
    layout = StoreLayout.of(cli.client(), store_uri)
    check_owner(cli, layout)
    store_sweeper = sweeper(
        cli, layout, min_age_h, max_share=max_share_percent / 100, quarantine_days=quarantine_days
    )
    folders = list(store_sweeper.find(named_tables(cli, table_names) or cli.client().tables.list_typed()))
    kept = {folder.table: why for folder in folders if (why := store_sweeper.why_kept(folder)) is not None}
    swept = [folder for folder in folders if folder.table not in kept]
    due = [leftover for folder in swept for leftover in folder.leftovers]
    expired = store_sweeper.expired()
    questions = []
    if due:
        size_bytes = sum(leftover.size_bytes for leftover in due)
        what = f"{counted_text(len(due), 'object')} ({size_bytes:,} bytes) in {visible(layout.root)}"
        do = f"Quarantine for {counted_text(quarantine_days, 'day')}" if quarantine_days else "Delete"
        questions.append(f"{do} {what} that no segment of {cli.property_store().cluster_name} needs?")
    if expired:
        over = f"{counted_text(expired, 'object')} in the quarantine of {visible(layout.root)}"
        questions.append(f"Delete for good {over} whose time is over?")
    if questions and not dry_run:
        confirm(" ".join(questions), yes=yes)
    moved_to: dict[str, str | None] = {}
    if not dry_run:
        moved_to = {
            done.leftover.uri: done.moved_to for folder in swept for done in store_sweeper.remove(folder)
        }
        expired = store_sweeper.delete_expired()
    leftovers = [leftover for folder in folders for leftover in folder.leftovers]
    rows = [
        (
            leftover.table,
            leftover.segment,
            leftover.kind.value,
            leftover.uri,
            leftover.size_bytes,
            int(leftover.age_s),
            leftover.uri in moved_to and moved_to[leftover.uri] is None,
            moved_to.get(leftover.uri) or "",
        )
        for leftover in leftovers
    ]
    cli.out.table(_COLUMNS, rows)
    deleted = sum(target is None for target in moved_to.values())
    cli.out.note(
        f"Found {counted_text(len(leftovers), 'object')} that no segment needs; "
        f"quarantined {len(moved_to) - deleted}, deleted {deleted}."
    )
    if expired:
        cli.out.note(
            f"Quarantine: {counted_text(expired, 'object')} whose time is over"
            f"{'.' if dry_run else ' deleted for good.'}"
        )
    for why in kept.values():
        cli.out.note(f"Left alone: {why}. If the store is this cluster's, pass --max-share 100.")
    if kept:
        raise click.exceptions.Exit(1)
