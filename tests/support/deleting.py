"""Deleting tables, without a server that dies of it, and making them again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from tests.support.wait import WaitError, wait_for

__all__ = ["create_again", "delete_realtime"]

_BUILT_S = 30.0
_GONE_S = 300.0


def delete_realtime(client: ControllerClient, table: TableName) -> None:
    """Delete a table, if it is there, when no server builds a segment of it any more.

    When a table goes, Pinot frees the memory of its consuming segments, also of one that a server is just
    building a sealed segment from: that server dies of SIGSEGV (seen on 1.5.1), and the tests after it fail.
    """
    if not client.tables.exists(table):
        return
    with suppress(WaitError):  # a server that was left frozen, say: then it is deleted as it is
        wait_for(lambda: not _being_built(client, table), f"the segments of {table} to be built", _BUILT_S)
    client.tables.delete(table)


def create_again(client: ControllerClient, table: TableName, create: Callable[[], object]) -> None:
    """Create a table that was just deleted: Pinot refuses its name while the former one's segments go."""
    wait_for(lambda: not client.tables.exists(table), f"{table} to go", _GONE_S)

    def created() -> bool:
        create()  # wait_for takes a refusal for "not yet"
        return True

    wait_for(created, f"{table} to be made again", _GONE_S, interval_s=1.0)


def _being_built(client: ControllerClient, table: TableName) -> list[str]:
    """Return the segments that are to be sealed and that a server still consumes."""
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
