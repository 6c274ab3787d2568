"""What follows the update of a schema: segments get its new columns only when servers load them again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from controller_client.cli.context import CliContext
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.rest.capabilities import Capability

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = ["note_missing_columns", "reload_tables", "tables_of_schema"]


def tables_of_schema(client: ControllerClient, schema: str) -> list[TableName]:
    """Return the tables (with type) that have a schema, as Pinot finds it for a table."""
    schemas = set(client.schemas.list())
    found = []
    for name in client.tables.list_typed():
        with suppress(NotFoundError):  # one that is deleted meanwhile
            names = client.tables.get(name).schema_names
            if next((each for each in names if each in schemas), None) == schema:
                found.append(name)
    return found


def note_missing_columns(cli: CliContext, tables: Sequence[TableName], columns: Sequence[str]) -> None:
    """Warn of what queries make of segments without the new columns, and explain how to change that."""
    filled = [name for name in tables if cli.client().segments.list(name, exclude_replaced=False)]
    if filled and columns:
        default = cli.client().cluster.capabilities().has(Capability.MISSING_COLUMNS_AS_DEFAULT)
        until_then = (
            "queries read a new column's default value from their rows"
            if default
            else "a query that names a new column, or all columns by *, leaves them out"
        )
        cli.out.note(
            f"Segments of {', '.join(filled)} lack {', '.join(columns)} until they are loaded again: "
            f"{until_then}. Run this with --reload to load them again."
        )


def reload_tables(cli: CliContext, tables: Sequence[TableName], timeout_s: float) -> None:
    """Let servers load all segments of tables again, and wait for each table.

    Raises:
        WaitTimeoutError: Not all are loaded again in time.
    """
    segments = cli.client().segments
    jobs = {name: segments.reload(name) for name in tables if segments.list(name, exclude_replaced=False)}
    with cli.out.progress("Reloading", total=len(jobs), unit="tables") as progress:
        for name, job in jobs.items():
            progress.update(text=f"Reloading {name}")
            done = segments.wait_reloaded(name, job, timeout_s)
            left = done.total - done.reloaded
            cli.out.note(f"{name}: {done.reloaded} of {done.total} replicas of segments are loaded again.")
            if left > 0:
                cli.out.note(
                    f"  {left} consume and get the new columns with their next segment; "
                    f"'pinotctl consumption reset {name}' begins it now."
                )
            progress.advance()
    if not jobs:
        cli.out.note("No table of the schema has a segment: nothing to reload.")
