"""List, show, create, update and delete schemas."""

from __future__ import annotations

from typing import TextIO

import click

from controller_client.common.text import counted_text, did_you_mean
from controller_client.errors import ConflictError, NotFoundError
from controller_client.models import Schema
from pinotctl.arguments import read_json_object
from pinotctl.commands.schema_reload import (
    note_missing_columns,
    reload_tables,
    tables_of_schema,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import schema_argument
from pinotctl.options import confirm, dry_run_option, output_option, timeout_option, yes_option

__all__ = ["schema"]

_FILE = click.argument("file", type=click.File(encoding="utf-8"))


@click.group(help=__doc__, cls=CommandGroup)
def schema() -> None:  # noqa: D103  # help is the module's docstring
    pass


@schema.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the names of all schemas."""
    cli.out.table(("schema",), [(name,) for name in cli.client().schemas.list()])


@schema.command()
@schema_argument()
@output_option()
@pass_cli
def show(cli: CliContext, name: str) -> None:
    """Show a schema's fields; with --output json, the complete schema."""
    try:
        stored_schema = cli.client().schemas.get(name)
    except NotFoundError as error:
        error.remedy = did_you_mean(name, cli.client().schemas.list(), otherwise="see 'pinotctl schema list'")
        raise
    if cli.out.is_json:
        cli.out.json(stored_schema.to_json())
        return
    rows = [
        (
            field.name,
            field.data_type,
            field.role.value.lower(),
            field.single_value,
            field.default_null_value,
            field.format,
        )
        for field in stored_schema.fields
    ]
    cli.out.table(("field", "type", "role", "single_value", "default_null_value", "format"), rows)


@schema.command()
@_FILE
@click.option("--override", is_flag=True, help="Replace an existing schema of the same name.")
@dry_run_option
@output_option()
@pass_cli
def create(cli: CliContext, file: TextIO, override: bool, dry_run: bool) -> None:
    """Create a schema from a JSON file ('-' for stdin)."""
    new_schema = Schema.from_json(read_json_object(file))
    name, schemas = new_schema.schema_name, cli.client().schemas
    record = {"schema": name, "fields": len(new_schema.fields), "changed": not dry_run, "dry_run": dry_run}
    there = name in schemas.list()
    what = f"the schema {name} with {counted_text(len(new_schema.fields), 'field')}"
    if dry_run:
        if there and not override:
            raise ConflictError(f"the schema {name} already exists", remedy="pass --override to replace it")
        schemas.validate(new_schema)
        cli.out.result(f"Would {'replace' if there else 'create'} {what}.", record)
        return
    schemas.create(new_schema, override=override)
    cli.out.result(f"{'Replaced' if there else 'Created'} {what}.", record)


@schema.command()
@_FILE
@click.option(
    "--reload",
    "do_reload",
    is_flag=True,
    help="Reload the segments of its tables, so that they get the new columns, and wait until that is done.",
)
@timeout_option("Seconds to wait for the reload of each table.")
@dry_run_option
@output_option()
@pass_cli
def update(cli: CliContext, file: TextIO, do_reload: bool, timeout_s: float, dry_run: bool) -> None:
    """Replace a schema with the one in a JSON file ('-' for stdin).

    A segment gets a new column only when its servers reload it. Until then, queries that select the column,
    by name or by *, leave the segment out.
    """
    new_schema = Schema.from_json(read_json_object(file))
    present = cli.client().schemas.get(new_schema.schema_name)
    before, after = ({field.name for field in each.fields} for each in (present, new_schema))
    added, dropped = sorted(after - before), sorted(before - after)
    if not dry_run:
        cli.client().schemas.update(new_schema)
    cli.out.result(
        f"{'Would replace' if dry_run else 'Replaced'} the schema {new_schema.schema_name}: "
        f"new fields {added}, dropped fields {dropped}.",
        {
            "schema": new_schema.schema_name,
            "new_fields": added,
            "dropped_fields": dropped,
            "changed": not dry_run,
            "dry_run": dry_run,
        },
    )
    if dry_run:
        return
    if do_reload:
        reload_tables(cli, tables_of_schema(cli.client(), new_schema.schema_name), timeout_s)
    elif added:
        note_missing_columns(cli, tables_of_schema(cli.client(), new_schema.schema_name), added)


@schema.command()
@schema_argument()
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(cli: CliContext, name: str, dry_run: bool, yes: bool) -> None:
    """Delete a schema that no table uses."""
    if name not in cli.client().schemas.list():
        raise NotFoundError(f"there is no schema {name}", where=cli.client().config.url)
    # Pinot 0.11.0 itself checks realtime tables only, and would delete the schema of an offline table.
    if cli.client().tables.exists(name):
        raise ConflictError(f"the table {name} uses the schema {name}", remedy="delete the table first")
    record = {"schema": name, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"Would delete the schema {name}.", record)
        return
    confirm(f"Delete the schema {name} at {cli.client().config.url}?", yes=yes)
    cli.client().schemas.delete(name)
    cli.out.result(f"Deleted the schema {name}.", record)
