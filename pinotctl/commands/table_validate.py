"""Have Pinot validate a table config before it is used."""

from __future__ import annotations

from typing import TextIO

import click

from controller_client.models import Schema, TableConfig
from controller_client.models.segment import check_segment_times
from pinotctl.arguments import read_json_object
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import output_option

__all__ = ["validate"]


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option(
    "--schema",
    "schema_file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="The table's schema, if the cluster does not have it yet.",
)
@click.option(
    "--skip-task-validation",
    is_flag=True,
    help="Do not have the controller validate task types; it does not know those that Python minions run.",
)
@output_option()
@pass_cli
def validate(cli: CliContext, file: TextIO, schema_file: TextIO | None, skip_task_validation: bool) -> None:
    """Have Pinot validate the table config in a JSON file ('-' for stdin); nothing is written.

    Without --schema, the cluster must have the table's schema. Parts that Pinot does not know and would
    ignore are listed, but are not an error.
    """
    config = TableConfig.from_json(read_json_object(file))
    schema = Schema.from_json(read_json_object(schema_file)) if schema_file else None
    client = cli.client()
    if schema is None:
        check_segment_times(config, client.schemas.of_table(config))  # Pinot's error is about an empty schema
    else:
        client.schemas.validate(schema)
        check_segment_times(config, schema)
    parts = client.tables.validate(schema, config, skip_task_validation=skip_task_validation)
    if parts:
        cli.out.note(f"Pinot does not know these parts and would ignore them: {', '.join(parts)}.")
    cli.out.result(
        f"Pinot accepts the config of {config.name_with_type}.",
        {
            "table": config.name_with_type,
            "valid": True,
            "exists": client.tables.exists(config.name_with_type),
            "unknown_parts": list(parts),
        },
    )
