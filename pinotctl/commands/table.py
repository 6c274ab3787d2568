"""List, show, create, change, reload, rebalance, copy and delete tables."""

from __future__ import annotations

from typing import TextIO

import click

from controller_client.common.names import TableType
from controller_client.common.text import counted_text
from controller_client.errors import ConflictError, NotFoundError
from controller_client.models import TableConfig
from controller_client.models.segment import check_segment_times
from controller_client.rest.table_configs import check_references
from pinotctl.arguments import read_json_object, table_with_type
from pinotctl.commands.table_copy import copy
from pinotctl.commands.table_infer import infer
from pinotctl.commands.table_inspect import INSPECTIONS
from pinotctl.commands.table_rebalance import REBALANCES
from pinotctl.commands.table_reload import RELOADS
from pinotctl.commands.table_serving import SERVING
from pinotctl.commands.table_validate import validate
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["table"]

_TABLE = table_argument()
_FILE = click.argument("file", type=click.File(encoding="utf-8"))
_SKIP_TASKS = click.option(
    "--skip-task-validation",
    is_flag=True,
    help="Do not have the controller validate task types; it does not know those that Python minions run.",
)


@click.group(help=__doc__, cls=CommandGroup)
def table() -> None:  # noqa: D103  # help is the module's docstring
    pass


@table.command(name="list")
@click.option(
    "--type",
    "table_type",
    type=click.Choice([kind.lower() for kind in TableType]),
    show_default="both",
    help="Only tables of this type.",
)
@output_option()
@pass_cli
def list_(cli: CliContext, table_type: str | None) -> None:
    """List the tables with their types."""
    types = [TableType(table_type.upper())] if table_type else list(TableType)
    names = sorted(name for each in types for name in cli.client().tables.list(each))
    cli.out.table(("table",), [(name,) for name in names])


@table.command()
@_TABLE
@output_option()
@pass_cli
def show(cli: CliContext, table_name: str) -> None:
    """Show the main settings of a table; with --output json, its complete config."""
    name = table_with_type(cli.client(), table_name)
    config = cli.client().tables.get(name)
    if cli.out.is_json:
        cli.out.json(config.to_json())
        return
    segments = config.segments_config
    retention = [segments.retention_time_value, segments.retention_time_unit]
    cli.out.record(
        {
            "table": name,
            "schema": _schema_name(cli, config),
            "time_column": config.time_column,
            "replication": segments.replication,
            "retention": " ".join(str(part) for part in retention if part) or "forever",
            "segments": len(cli.client().segments.list(name)),
            "tasks": ", ".join(sorted(config.task.task_type_configs_map)) if config.task else None,
        }
    )


def _schema_name(cli: CliContext, config: TableConfig) -> str | None:
    try:
        return cli.client().schemas.of_table(config).schema_name
    except NotFoundError:
        return None  # Pinot 0.11.0 allows an offline table without a schema


@table.command()
@_FILE
@_SKIP_TASKS
@dry_run_option
@output_option()
@pass_cli
def create(cli: CliContext, file: TextIO, skip_task_validation: bool, dry_run: bool) -> None:
    """Create a table from a config in a JSON file ('-' for stdin); its schema must exist."""
    config = TableConfig.from_json(read_json_object(file))
    name = config.name_with_type
    found = cli.client().schemas.of_table(config)
    check_segment_times(config, found)
    schema = found.schema_name
    record = {"table": name, "schema": schema, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        if cli.client().tables.exists(name):
            raise ConflictError(f"the table {name} already exists", remedy="use 'pinotctl table update'")
        cli.out.result(f"Would create the table {name} with the schema {schema}.", record)
        return
    cli.client().tables.create(config, skip_task_validation=skip_task_validation)
    cli.out.result(f"Created the table {name}.", record)


@table.command()
@_FILE
@_SKIP_TASKS
@dry_run_option
@output_option()
@pass_cli
def update(cli: CliContext, file: TextIO, skip_task_validation: bool, dry_run: bool) -> None:
    """Replace a table's config with the one in a JSON file ('-' for stdin)."""
    config = TableConfig.from_json(read_json_object(file))
    name = config.name_with_type
    before = cli.client().tables.get(name)
    if before.time_column != config.time_column:
        check_segment_times(config, cli.client().schemas.of_table(config))
    present, wanted = before.to_json(), config.to_json()
    check_references(wanted, present)
    different = sorted(key for key in present.keys() | wanted.keys() if present.get(key) != wanted.get(key))
    named = ", ".join(different) or "none"
    record = {"table": name, "different_parts": different, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"Would replace the config of {name}; changed parts: {named}.", record)
        return
    cli.client().tables.update(config, skip_task_validation=skip_task_validation)
    cli.out.result(f"Replaced the config of {name}; changed parts: {named}.", record)


@table.command()
@_TABLE
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(cli: CliContext, table_name: str, dry_run: bool, yes: bool) -> None:
    """Delete a table and its segments; its schema is kept."""
    name = table_with_type(cli.client(), table_name)
    segments = len(cli.client().segments.list(name, exclude_replaced=False))
    what = f"the table {name} with {counted_text(segments, 'segment')}"
    record = {"table": name, "segments": segments, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"Would delete {what}.", record)
        return
    confirm(f"Delete {what} at {cli.client().config.url}?", yes=yes)
    cli.client().tables.delete(name)
    cli.out.result(f"Deleted {what}.", record)


@table.command()
@_TABLE
@click.option("--differences", is_flag=True, help="Only replicas whose ideal state and external view differ.")
@output_option()
@pass_cli
def state(cli: CliContext, table_name: str, differences: bool) -> None:
    """Compare what servers should have loaded (ideal state) with what they report (external view)."""
    name = table_with_type(cli.client(), table_name)
    ideal, external = cli.client().tables.ideal_state(name), cli.client().tables.external_view(name)
    rows = []
    for segment in sorted(ideal.keys() | external.keys()):
        wanted, seen = ideal.get(segment, {}), external.get(segment, {})
        rows += [
            (segment, instance, wanted.get(instance), seen.get(instance))
            for instance in sorted(wanted.keys() | seen.keys())
        ]
    wrong = [row for row in rows if row[2] != row[3]]
    cli.out.table(("segment", "instance", "ideal_state", "external_view"), wrong if differences else rows)
    cli.out.note(f"{len(rows) - len(wrong)} of {len(rows)} replicas are as they should be.")


for _command in (*INSPECTIONS, *REBALANCES, *RELOADS, *SERVING, copy, infer, validate):
    table.add_command(_command)
