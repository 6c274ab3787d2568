"""Shows and applies the plans of ``pinotctl deepstore enable`` and ``disable``."""

from __future__ import annotations

import click

from controller_client.deepstore.table_plan import PeerDownloadPlan, apply
from pinotctl.context import CliContext
from pinotctl.options import confirm

__all__ = ["finish"]


def finish(cli: CliContext, planned: PeerDownloadPlan, after: str, *, dry_run: bool, yes: bool) -> None:
    """Show the checks and the changes; then make the changes, if no check has failed.

    Args:
        cli: The command's context.
        planned: The plan.
        after: Message to show after the changes.
        dry_run: Change nothing.
        yes: Do not ask for confirmation.

    Raises:
        click.exceptions.Exit: With code 1: a check has failed.
    """
    rows = [(check.where, check.verdict.value, check.text) for check in planned.checks]
    cli.out.table(("where", "verdict", "finding"), rows)
    for line in planned.changes():
        cli.out.note(line)
    if planned.wrong:
        cli.out.note("Nothing was changed. Fix what is wrong first.")
        raise click.exceptions.Exit(1)
    if not planned.changes():
        cli.out.note("Nothing to change: the table is already configured like this.")
        return
    if dry_run:
        return
    confirm(f"Change the config of {planned.table} at {cli.client().config.url}?", yes=yes)
    apply(cli.client(), planned)
    cli.out.note(after)
