"""How ``pinotctl deepstore enable`` and ``disable`` show a plan, and apply it."""

from __future__ import annotations

import click

from controller_client.cli.context import CliContext
from controller_client.cli.options import confirm
from controller_client.deepstore.table_plan import TablePlan, apply

__all__ = ["finish"]


def finish(cli: CliContext, planned: TablePlan, after: str, *, dry_run: bool, yes: bool) -> None:
    """Show what was checked and what changes; then change it, if nothing speaks against it.

    Args:
        cli: The command's context.
        planned: What was planned.
        after: Said when it is changed.
        dry_run: Change nothing.
        yes: Ask nobody.

    Raises:
        click.exceptions.Exit: 1: a check speaks against it.
    """
    rows = [(check.where, check.verdict.value, check.text) for check in planned.checks]
    cli.out.table(("where", "verdict", "finding"), rows)
    for line in planned.changes():
        cli.out.note(line)
    if planned.wrong:
        cli.out.note("Nothing is changed: fix what is wrong first.")
        raise click.exceptions.Exit(1)
    if not planned.changes():
        cli.out.note("It is set already.")
        return
    if dry_run:
        return
    confirm(f"Change the config of {planned.table} at {cli.client().config.url}?", yes=yes)
    apply(cli.client(), planned)
    cli.out.note(after)
