"""Runs steps on several tables; a failure of one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from controller_client.errors import PinotPluginError
from pinotctl.context import CliContext

if TYPE_CHECKING:
    from controller_client.consumption.table_control import TableControl

__all__ = ["Step", "each_table"]

Step = Callable[["TableControl"], Mapping[str, Any]]
"""One step for one table; returns what it adds to the table's JSON object."""


def each_table(cli: CliContext, controls: Sequence[TableControl], *steps: Step) -> None:
    """Run each step for each table that has not failed.

    With one table, its error is raised. With several, the errors are reported, and the command ends with the
    highest of their exit codes: 3 (outcome unknown) rather than 1. With JSON, a list with an object for each
    table is written at the end.
    """
    records: dict[str, dict[str, Any]] = {
        control.table: {"table": control.table, "error": None} for control in controls
    }
    left, exit_code = list(controls), 0
    for step in steps:
        for control in list(left):
            try:
                records[control.table].update(step(control))
            except PinotPluginError as error:
                if len(controls) == 1:
                    raise
                cli.out.note(f"{control.table}: Error: {error}")
                records[control.table]["error"] = str(error)
                left.remove(control)
                exit_code = max(exit_code, error.exit_code)
    if cli.out.is_json:
        cli.out.json(list(records.values()))
    if exit_code:
        raise click.exceptions.Exit(exit_code)
