"""Create and drop upsert tables, and show the progress of their updates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from controller_client.clock import SystemClock
from controller_client.errors import ConfigError, NotFoundError
from controller_client.models import Schema, TableConfig
from pinotctl.arguments import read_json_object
from pinotctl.commands import UPSERT_COMMANDS
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import LazyGroup
from pinotctl.named_arguments import table_argument
from pinotctl.options import (
    confirm,
    dry_run_option,
    html_option,
    output_option,
    timeout_option,
    yes_option,
)

if TYPE_CHECKING:
    from controller_client.upsert.tables import QueriedTable

__all__ = ["upsert"]

_TABLE = table_argument()


@click.group(help=__doc__, cls=LazyGroup, lazy_commands=UPSERT_COMMANDS)
def upsert() -> None:  # noqa: D103  # help is the module's docstring
    pass


@upsert.command()
@click.option(
    "--schema",
    "schema_file",
    type=click.File(encoding="utf-8"),
    required=True,
    metavar="FILE",
    help="Schema of the table (JSON).",
)
@click.option(
    "--config",
    "config_file",
    type=click.File(encoding="utf-8"),
    required=True,
    metavar="FILE",
    help="Config of the table (JSON).",
)
@click.option(
    "--primary-key",
    metavar="COLUMN,...",
    show_default="primaryKey in the files",
    help="Columns of the key; a later row replaces earlier ones with the same key.",
)
@click.option(
    "--timestamp",
    "timestamp_column",
    metavar="COLUMN",
    show_default="the table's time column",
    help="Column that decides which row of a key is later.",
)
@click.option(
    "--order",
    metavar="NAME",
    help="Registered function that ranks the rows of a key, instead of --timestamp.",
)
@click.option(
    "--updates-topic",
    metavar="TOPIC",
    show_default="TABLE_REALTIME.updates",
    help="Kafka topic for the updates.",
)
@dry_run_option
@output_option()
@pass_cli
def create(
    cli: CliContext,
    schema_file: TextIO,
    config_file: TextIO,
    primary_key: str | None,
    timestamp_column: str | None,
    order: str | None,
    updates_topic: str | None,
    dry_run: bool,
) -> None:
    """Register an upsert table from a schema and the config of a realtime table with a Kafka stream.

    The columns, indexes and settings of an upsert table are added to them. updateSemantic and primaryKey, as
    in the original design, are accepted in the files. Everything is checked before the first write. You can
    run the command again: what is already registered and equal is left unchanged.
    """
    from controller_client.upsert.creating import (
        check_hooks,
        create_upsert_table,
        plan_upsert_table,
        servers_without_hooks,
    )
    from controller_client.upsert.original_form import read_original_form

    given = read_original_form(
        Schema.from_json(read_json_object(schema_file)), TableConfig.from_json(read_json_object(config_file))
    )
    planned = plan_upsert_table(
        given.schema,
        given.table,
        primary_key=given.key_or(primary_key),
        timestamp_column=given.timestamp_or(timestamp_column),
        updates_topic=updates_topic,
        order=order,
    )
    check_hooks(cli.property_store(), planned.table)
    warnings = list(planned.warnings)
    stock = servers_without_hooks(cli.property_store(), planned.table)
    if stock:
        warnings.append(
            "these servers, to which segments of the table may go, never reported that they are hosted in "
            f"Python: {', '.join(stock)}. Rows on them stay invisible, and they hold back the table's mark. "
            "Run them with: pinotctl serve server"
        )
    for warning in warnings:
        cli.out.note(f"Warning: {warning}")
    done = create_upsert_table(cli.client(), planned, dry_run=dry_run)
    verb = "Would register" if dry_run else "Registered"
    cli.out.result(
        f"{verb} {' and '.join(done)}." if done else "Schema and table are already registered.",
        {
            "table": planned.table,
            "registered": list(done),
            "warnings": warnings,
            "changed": bool(done) and not dry_run,
            "dry_run": dry_run,
        },
    )


@upsert.command()
@_TABLE
@click.option("--keep-schema", is_flag=True, help="Keep the schema even if no other table uses it.")
@dry_run_option
@yes_option
@output_option()
@pass_cli
def drop(cli: CliContext, table_name: str, keep_schema: bool, dry_run: bool, yes: bool) -> None:
    """Drop an upsert table: the table, its schema, the updates topic, and its state in ZooKeeper.

    The input topic is kept. Refused while the key coordinator runs. If the command was killed, run it again
    to finish.
    """
    from controller_client.upsert.dropping import plan_drop

    store = cli.property_store()
    planned = plan_drop(cli.client(), store, table_name, keep_schema=keep_schema)
    record = {"table": planned.table, "dropped": planned.what, "changed": not dry_run, "dry_run": dry_run}
    what = " and ".join(planned.what)
    if dry_run:
        cli.out.result(f"Would drop {what}.", record)
        return
    confirm(f"Drop {what} at {cli.client().config.url}?", yes=yes)
    planned.run(store, lambda each: cli.out.note(f"Dropped {each}."))
    cli.out.result(f"Dropped {what}.", record)


@upsert.command()
@_TABLE
@html_option("Also write an HTML page to this file.")
@output_option()
@pass_cli
def status(cli: CliContext, table_name: str, html: Path | None) -> None:
    """Show the progress of an upsert table's servers and coordinator, and what limits its watermark.

    The exit code is 0 if every server has reported a version, else 1.
    """
    from controller_client.upsert.status import read_status

    upsert_status = read_status(cli.property_store(), _table(cli, table_name).table, SystemClock().now())
    if html is not None:
        from controller_client.common.new_file import write_page
        from pinotctl.pages.upsert import upsert_page

        write_page(html, upsert_page(upsert_status, cli.console()))
    if cli.out.is_json:
        cli.out.json(upsert_status.to_json())
    else:
        cli.out.table(upsert_status.COLUMNS, upsert_status.rows())
    for line in upsert_status.lines():
        cli.out.note(line)
    if not upsert_status.is_well:
        raise click.exceptions.Exit(1)


@upsert.command()
@_TABLE
@click.option(
    "--wait-version",
    type=click.IntRange(min=0),
    metavar="N",
    help="Wait until the watermark reaches this version.",
)
@click.option(
    "--wait-produced",
    is_flag=True,
    help="Wait until the watermark includes all rows that are in the input topic now.",
)
@timeout_option("Seconds to wait.")
@output_option()
@pass_cli
def watermark(
    cli: CliContext, table_name: str, wait_version: int | None, wait_produced: bool, timeout_s: float
) -> None:
    """Print the version up to which all servers of an upsert table are complete."""
    from controller_client.upsert.low_water_mark import read_mark
    from controller_client.upsert.visible import wait_mark, wait_produced_rows

    store, table, clock = cli.property_store(), _table(cli, table_name), SystemClock()
    if wait_version is not None and wait_produced:
        raise ConfigError("--wait-version and --wait-produced cannot be combined", expected="one of them")
    if wait_version is not None:
        wait_mark(store, table.table, wait_version, timeout_s=timeout_s, clock=clock)
    if wait_produced:
        wait_produced_rows(store, table, timeout_s=timeout_s, clock=clock)
    version = read_mark(store, table.table).required()
    if cli.out.is_json:
        cli.out.json({"table": table.table, "version": version})
    else:
        cli.out.line(str(version))


def _table(cli: CliContext, name: str) -> QueriedTable:
    from controller_client.upsert.tables import find_table

    table = find_table(cli.property_store(), name)
    if table is None:
        raise NotFoundError(
            f"there is no upsert table {name}",
            remedy="create it with 'pinotctl upsert create'; queries see all rows of a table created "
            "in any other way",
        )
    return table
