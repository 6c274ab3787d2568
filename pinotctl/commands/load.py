"""Create a table for local files, with a guessed schema and config, and ingest them."""

from __future__ import annotations

from pathlib import Path

import click

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConflictError, NotAppliedError
from controller_client.models import Schema, TableConfig
from minion_tasks.file_ingestion.run.trigger import run_task
from pinotctl.commands.table_infer import inference_options, proposal_for, show_proposal
from pinotctl.commands.task_report import show_report
from pinotctl.commands.task_tools import run_tools
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import dry_run_option, output_option

__all__ = ["load"]


@click.command()
@table_argument("table")
@inference_options
@dry_run_option
@output_option()
@pass_cli
def load(
    cli: CliContext,
    table: str,
    sources: tuple[Path | str, ...],
    format_name: str | None,
    time_column: str | None,
    rows: int,
    settings: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Create a table for local files, with a guessed schema and config, and ingest them.

    In place of files, one Iceberg or Delta table can be named, as in 'pinotctl table infer'.

    For a first look: the minions must see the files under the same path, as those of 'pinotctl cluster up'
    do. 'pinotctl table infer' writes what is guessed to files instead, which you can correct.
    """
    client, name = cli.client(), TableName.of(table, TableType.OFFLINE)
    if client.tables.exists(name) or name.raw in client.schemas.list():
        raise ConflictError(
            f"there is a table or a schema {name.raw} already",
            where=client.config.url,
            remedy=f"choose another name; 'pinotctl task run {name}' ingests new files of its task",
        )
    proposal = proposal_for(name, sources, format_name, time_column, rows, settings)
    if dry_run:
        show_proposal(cli, proposal)
        return
    if not cli.out.is_json:
        show_proposal(cli, proposal)
    client.schemas.create(Schema.from_json(proposal.schema))
    try:
        client.tables.create(TableConfig.from_json(proposal.table), skip_task_validation=True)
    except NotAppliedError:
        client.schemas.delete(name.raw)
        raise
    cli.out.note(f"Created the table {name}; 'pinotctl table delete {name}' deletes it.")
    with cli.out.progress("reading files", unit="files") as progress:
        report = run_task(run_tools(cli, progress), name, lock_wait_s=0)
    show_report(cli, report)
