"""Create and drop upsert tables, and see how far their updates are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from controller_client.cli.arguments import read_json_object
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.lazy import LazyGroup
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import (
    confirm,
    dry_run_option,
    html_option,
    output_option,
    timeout_option,
    yes_option,
)
from controller_client.clock import SystemClock
from controller_client.errors import ConfigError, NotFoundError
from controller_client.models import Schema, TableConfig

if TYPE_CHECKING:
    from controller_client.upsert.tables import QueriedTable

__all__ = ["upsert"]

_TABLE = table_argument()


@click.group(help=__doc__, cls=LazyGroup, entry_point_group="pinotctl.upsert_commands")
def upsert() -> None:  # noqa: D103  # help is the module's docstring
    pass


@upsert.command()
@click.option("--schema", "schema_file", type=click.File(encoding="utf-8"), required=True, metavar="FILE")
@click.option("--config", "config_file", type=click.File(encoding="utf-8"), required=True, metavar="FILE")
@click.option(
    "--primary-key",
    metavar="COLUMN,...",
    help="A later row replaces the one of the same key; default primaryKey in the files.",
)
@click.option(
    "--timestamp",
    "timestamp_column",
    metavar="COLUMN",
    help="Which row of a key is the later; default the table's time column.",
)
@click.option("--order", metavar="MODULE:FUNCTION", help="Ranks rows of a key instead of the timestamp.")
@click.option("--updates-topic", metavar="TOPIC", help="Of the updates; default TABLE_REALTIME.updates.")
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
    """Register an upsert table: a schema, and the config of a realtime table with a Kafka stream.

    Columns, indexes and settings of an upsert table are added to them; updateSemantic and primaryKey in them,
    as the original design has it, are taken. All is checked before the first write. What is there already and
    is the same stays as it is, so it may be run again.
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
            f"{', '.join(stock)} of the table's tenant never reported that it is hosted in Python: its rows "
            "stay invisible there. Run servers of this tenant by: pinotctl serve server"
        )
    for warning in warnings:
        cli.out.note(f"Warning: {warning}")
    done = create_upsert_table(cli.client(), planned, dry_run=dry_run)
    verb = "would be registered" if dry_run else "registered"
    cli.out.result(
        f"{' and '.join(done)} {verb}." if done else "Schema and table are there already.",
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
@click.option("--keep-schema", is_flag=True, help="Leave the schema, also where no other table has it.")
@dry_run_option
@yes_option
@output_option()
@pass_cli
def drop(cli: CliContext, table_name: str, keep_schema: bool, dry_run: bool, yes: bool) -> None:
    """Take an upsert table away: table, schema, topic of updates, and what is kept of it in ZooKeeper.

    Its rows in the input topic stay. Refused while its key coordinator runs. One that was killed is finished
    by running it again.
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
    planned.run(store, lambda each: cli.out.note(f"dropped {each}"))
    cli.out.result(f"Dropped {what}.", record)


@upsert.command()
@_TABLE
@html_option("Also write an HTML page to this file.")
@output_option()
@pass_cli
def status(cli: CliContext, table_name: str, html: Path | None) -> None:
    """Show how far servers and key coordinator of an upsert table are, and what holds its mark.

    Exit code 0 when every server has reported a version, else 1.
    """
    from controller_client.upsert.status import read_status

    found = read_status(cli.property_store(), _table(cli, table_name).table, SystemClock().now())
    if html is not None:
        from controller_client.cli.pages.upsert import upsert_page
        from controller_client.common.page_file import write_page

        write_page(html, upsert_page(found, cli.console()))
    if cli.out.is_json:
        cli.out.json(found.to_json())
    else:
        cli.out.table(found.COLUMNS, found.rows())
    for line in found.lines():
        cli.out.note(line)
    if not found.is_well:
        raise click.exceptions.Exit(1)


@upsert.command()
@_TABLE
@click.option(
    "--wait-version", type=click.IntRange(min=0), metavar="N", help="Wait until it is at least this."
)
@click.option(
    "--wait-produced", is_flag=True, help="Wait until all rows that are in the topic now are in it."
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
        raise ConfigError("--wait-version and --wait-produced do not go together", expected="one of them")
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

    found = find_table(cli.property_store(), name)
    if found is None:
        raise NotFoundError(
            f"there is no upsert table {name}",
            remedy="create it by 'pinotctl upsert create'; a table that was registered in another way is a "
            "plain one, of which queries see all rows",
        )
    return found
