"""Deleting tables without crashing a server, and creating them again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from controller_client.client import ControllerClient
from controller_client.common.names import TableName, TableType
from controller_client.errors import NotFoundError
from tests.support.wait import WaitError, wait_for

__all__ = ["create_again", "delete_realtime", "drop"]

_BUILT_S = 30.0
_GONE_S = 300.0


def drop(client: ControllerClient, name: str) -> None:
    """Delete what a test has left: the tables and schemas whose names begin with its own.

    Pinot 1.5.1 has applied such a call and never replied, so what is left is read again.
    """

    def all_deleted() -> bool:
        for table in client.tables.list_typed():
            if table.startswith(name) and table.type is TableType.REALTIME:
                delete_realtime(client, table)
            elif table.startswith(name):
                client.tables.delete(table)
        for schema in client.schemas.list():
            if schema.startswith(name):
                client.schemas.delete(schema)
        return True

    wait_for(all_deleted, f"the tables and schemas of {name} to be deleted", _GONE_S)


def delete_realtime(client: ControllerClient, table: TableName) -> None:
    """Delete a table, if it exists, once no server is building a segment of it.

    When a table is deleted, Pinot frees the memory of its consuming segments, even of one from which a server
    is building a sealed segment: that server dies of SIGSEGV (seen on 1.5.1), and later tests fail.
    """
    if not client.tables.exists(table):
        return
    with suppress(WaitError):  # e.g. because a server was left frozen: then the table is deleted anyway
        wait_for(lambda: not _being_built(client, table), f"the segments of {table} to be built", _BUILT_S)
    client.tables.delete(table)


def create_again(client: ControllerClient, table: TableName, create: Callable[[], object]) -> None:
    """Create a table that was just deleted: Pinot refuses the name until the old segments are deleted."""
    wait_for(lambda: not client.tables.exists(table), f"{table} to go", _GONE_S)

    def created() -> bool:
        create()  # wait_for treats a refusal as "not yet"
        return True

    wait_for(created, f"{table} to be made again", _GONE_S, interval_s=1.0)


def _being_built(client: ControllerClient, table: TableName) -> list[str]:
    """Return the segments that are being sealed and that a server still consumes."""
    try:
        ideal, view = client.tables.ideal_state(table), client.tables.external_view(table)
    except NotFoundError:
        return []
    return [
        name
        for name, servers in ideal.items()
        for server, state in servers.items()
        if state == "ONLINE" and view.get(name, {}).get(server) == "CONSUMING"
    ]
