"""Guess a schema, a table config and a task from the rows of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError
from jvm_bridge.input_rules import FileFormat
from pinotctl.arguments import key_values
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import dry_run_option, output_option

if TYPE_CHECKING:
    from minion_tasks.inference.proposal import Proposal

__all__ = ["infer", "inference_options", "proposal_for", "show_proposal"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_DELTA, _ICEBERG = "delta", "iceberg"


class _Source(click.ParamType):  # type: ignore[type-arg]  # only newer releases of click have an argument
    """A local file; or the address of a lakehouse table, which stays a text."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """Return the path of a file that exists, or the address."""
        if "://" in str(value):
            return str(value)
        path = Path(value)
        if (path / "_delta_log").is_dir():
            return f"file://{path.absolute()}"
        click.Path(exists=True, dir_okay=False).convert(value, param, ctx)
        return path


def inference_options(command: _Command) -> _Command:
    """Add the source and what is said about it: ``sources, format_name, time_column, rows, settings``."""
    for add in (
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Parameter of the task for an Iceberg or Delta table, e.g. input.fs.prop.uri. Repeatable.",
        ),
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
            type=click.Choice([*(each.lower() for each in FileFormat), _DELTA, _ICEBERG]),
            show_default="by the files' names",
            help="The format of the files.",
        ),
        click.argument(
            "sources",
            nargs=-1,
            required=True,
            metavar="FILE...",
            type=_Source(),
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
    sources: tuple[Path | str, ...],
    name: str | None,
    folder: Path,
    format_name: str | None,
    time_column: str | None,
    rows: int,
    settings: tuple[str, ...],
    replace: bool,
    dry_run: bool,
) -> None:
    """Write a schema, a table config and a task for local files, guessed from their first rows.

    In place of files, one Iceberg table (iceberg://CATALOG/NAMESPACE.TABLE) or Delta table (its folder, or
    its address with --format delta) can be named; the task then follows it.

    Each guess has its reason as a comment next to it: read the files, correct them, then run 'pinotctl
    apply'. Nothing is sent to the cluster.
    """
    from minion_tasks.inference.folder import write_proposal

    table = TableName.of(name, TableType.OFFLINE) if name else None
    proposal = proposal_for(table, sources, format_name, time_column, rows, settings)
    written = [] if dry_run else write_proposal(folder, proposal, replace=replace)
    if cli.out.is_json:
        cli.out.json(
            {
                "table": proposal.table_name,
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


def proposal_for(
    table: TableName | None,
    sources: tuple[Path | str, ...],
    format_name: str | None,
    time_column: str | None,
    rows: int,
    settings: tuple[str, ...],
) -> Proposal:
    """Guess a table for what the options of :func:`inference_options` name.

    Raises:
        ConfigError: The options do not go together; see also :func:`propose` and :func:`propose_following`.
    """
    from minion_tasks.inference.lakehouse import propose_following, table_name_of_lakehouse
    from minion_tasks.inference.proposal import propose, table_name_of

    first, configs = sources[0], key_values(settings, "--set")
    if isinstance(first, str):
        if len(sources) > 1:
            raise ConfigError("a table follows one other table", expected="one address", where=first)
        by_name = _ICEBERG if first.startswith("iceberg:") else _DELTA
        return propose_following(
            table or table_name_of_lakehouse(first),
            first,
            format_name or by_name,
            configs,
            time_column=time_column,
            max_rows=rows,
        )
    paths = [source for source in sources if isinstance(source, Path)]
    if len(paths) < len(sources):
        raise ConfigError(
            "files and a lakehouse table do not make one table", expected="files, or one address"
        )
    if configs:
        raise ConfigError(
            "--set is for Iceberg and Delta tables",
            remedy="of files, add parameters to the task in the written table config",
        )
    named = table or table_name_of(paths[0])
    return propose(named, paths, format_name=format_name, time_column=time_column, max_rows=rows)


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
