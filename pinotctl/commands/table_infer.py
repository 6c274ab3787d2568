"""Guess a schema, a table config and a task from the rows of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.common.names import TableName, TableType
from jvm_bridge.input_rules import FileFormat
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import dry_run_option, output_option

if TYPE_CHECKING:
    from minion_tasks.inference.proposal import Proposal

__all__ = ["infer", "inference_options", "show_proposal"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def inference_options(command: _Command) -> _Command:
    """Add the files and what is said about them: ``files, format_name, time_column, rows``."""
    for add in (
        click.option(
            "--rows",
            type=click.IntRange(min=1),
            default=10_000,
            show_default=True,
            metavar="N",
            help="Rows of each file to guess from.",
        ),
        click.option(
            "--time-column", metavar="COLUMN", show_default="guessed", help="The table's time column."
        ),
        click.option(
            "--format",
            "format_name",
            type=click.Choice([each.lower() for each in FileFormat]),
            show_default="by the files' names",
            help="The format of the files.",
        ),
        click.argument(
            "files",
            nargs=-1,
            required=True,
            metavar="FILE...",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
        ),
    ):
        command = add(command)
    return command


@click.command()
@inference_options
@click.option("--name", metavar="TABLE", show_default="the name of the first file", help="The table's name.")
@click.option(
    "--to",
    "folder",
    metavar="DIR",
    default="cluster",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the files, as 'pinotctl apply' takes it.",
)
@click.option("--replace", is_flag=True, help="Replace files of this table that are in the folder.")
@dry_run_option
@output_option()
@pass_cli
def infer(
    cli: CliContext,
    files: tuple[Path, ...],
    name: str | None,
    folder: Path,
    format_name: str | None,
    time_column: str | None,
    rows: int,
    replace: bool,
    dry_run: bool,
) -> None:
    """Write a schema, a table config and a task for local files, guessed from their first rows.

    Each guess has its reason as a comment next to it: read the files, correct them, then run 'pinotctl
    apply'. Nothing is sent to the cluster.
    """
    from minion_tasks.inference.folder import write_proposal
    from minion_tasks.inference.proposal import propose, table_name_of

    table = TableName.of(name, TableType.OFFLINE) if name else table_name_of(files[0])
    proposal = propose(table, files, format_name=format_name, time_column=time_column, max_rows=rows)
    written = [] if dry_run else write_proposal(folder, proposal, replace=replace)
    if cli.out.is_json:
        cli.out.json(
            {
                "table": table,
                "schema": proposal.schema,
                "config": dict(proposal.table),
                "reasons": {guess.name: guess.reason for guess in proposal.columns},
                "notes": list(proposal.notes),
                "files": [str(folder / path) for path in written],
                "changed": bool(written),
                "dry_run": dry_run,
            }
        )
        return
    show_proposal(cli, proposal)
    if written:
        cli.out.note(
            f"Wrote {', '.join(str(folder / path) for path in written)}. Next: pinotctl diff {folder}"
        )


def show_proposal(cli: CliContext, proposal: Proposal) -> None:
    """Print the guesses with their reasons."""
    cli.out.table(
        ("column", "type", "why"),
        [
            (guess.name, f"{guess.data_type}{'[]' if guess.has_lists else ''}", guess.reason)
            for guess in proposal.columns
        ],
    )
    for note in proposal.notes:
        cli.out.note(f"{note[0].upper()}{note[1:]}.")
