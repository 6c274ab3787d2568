"""What must follow a schema update: segments get the new columns only when servers reload them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.rest.capabilities import Capability
from pinotctl.context import CliContext

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = ["note_missing_columns", "reload_tables", "tables_of_schema"]


def tables_of_schema(client: ControllerClient, schema: str) -> list[TableName]:
    """Return the tables (with type) that use a schema, by Pinot's own rule."""
    schemas = set(client.schemas.list())
    return [
        table
        for table, config in client.tables.all_in_use()
        if next((name for name in config.schema_names if name in schemas), None) == schema
    ]


def note_missing_columns(cli: CliContext, tables: Sequence[TableName], columns: Sequence[str]) -> None:
    """Warn how queries treat segments without the new columns, and explain how to change that."""
    filled = [name for name in tables if cli.client().segments.list(name, exclude_replaced=False)]
    if filled and columns:
        default = cli.client().cluster.capabilities().has(Capability.MISSING_COLUMNS_AS_DEFAULT)
        until_then = (
            "queries see the default value of a new column in their rows"
            if default
            else "a query that selects a new column, by name or by *, leaves them out"
        )
        cli.out.note(
            f"The segments of {', '.join(filled)} lack {', '.join(columns)} until they are reloaded: "
            f"{until_then}. Run this with --reload to reload them."
        )


def reload_tables(cli: CliContext, tables: Sequence[TableName], timeout_s: float) -> None:
    """Have servers reload all segments of tables, and wait for each table.

    Raises:
        WaitTimeoutError: Not all are reloaded in time.
    """
    segments = cli.client().segments
    jobs = {name: segments.reload(name) for name in tables if segments.list(name, exclude_replaced=False)}
    with cli.out.progress("Reloading", total=len(jobs), unit="tables") as progress:
        for name, job in jobs.items():
            progress.update(text=f"Reloading {name}")
            done = segments.wait_reloaded(name, job, timeout_s)
            left = done.total - done.reloaded
            cli.out.note(f"{name}: reloaded {done.reloaded} of {done.total} segment replicas.")
            if left > 0:
                cli.out.note(
                    f"  {left} are consuming and get the new columns in their next segment; "
                    f"'pinotctl consumption reset {name}' starts it now."
                )
            progress.advance()
    if not jobs:
        cli.out.note("No table with this schema has segments: nothing to reload.")
