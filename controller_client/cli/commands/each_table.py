"""Doing something with several tables, whatever becomes of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from controller_client.cli.context import CliContext
from controller_client.errors import PinotPluginError

if TYPE_CHECKING:
    from controller_client.consumption.control import TableControl

__all__ = ["each_table"]


def each_table(cli: CliContext, controls: list[TableControl], *steps: Callable[[TableControl], None]) -> None:
    """Do each step with each table that is still well; a single table's error is raised.

    Of several tables the errors are told, and the command ends with the greatest of their exit codes: 3, an
    unknown outcome, before 1.
    """
    left, exit_code = list(controls), 0
    for step in steps:
        for control in list(left):
            try:
                step(control)
            except PinotPluginError as error:
                if len(controls) == 1:
                    raise
                cli.out.note(f"{control.table}: Error: {error}")
                left.remove(control)
                exit_code = max(exit_code, error.exit_code)
    if exit_code:
        raise click.exceptions.Exit(exit_code)
