"""The list of a cluster's tables with paused partitions.

::

    /<cluster>/PINOT_PLUGINS/paused_tables/<table>      empty

A table is in the list exactly while its ideal state has ``pausedPartitions``: both are written in one
transaction. So while nothing is paused, a server has no ideal state to watch, only the list.
A table dropped while it had paused partitions may stay in the list, which only causes a read of a missing
ideal state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from controller_client.common.names import TableName
from controller_client.errors import ConflictError
from controller_client.zookeeper import CreateNode, DeleteNode, PropertyStore, Write

__all__ = ["PausedTables", "listing_writes", "read_paused_tables"]


@dataclass(frozen=True)
class PausedTables:
    """The list as read.

    Attributes:
        names: Tables with type.
        zxid: ZooKeeper's number of its last change; of two lists, or of a list and an ideal state, the one
            with the greater number is more recent.
    """

    names: frozenset[TableName]
    zxid: int


def read_paused_tables(store: PropertyStore, changed: Callable[[Any], None] | None = None) -> PausedTables:
    """Read the list.

    Args:
        store: The cluster's property store.
        changed: Called once, in kazoo's thread, when a table is added or removed or the session is lost.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    found = store.connection.read_children(_folder(store), changed)
    tables = (TableName.parse(name) for name in found.names)
    return PausedTables(frozenset(table for table in tables if table), found.zxid)


def listing_writes(store: PropertyStore, table: TableName, *, is_paused: bool) -> list[Write]:
    """Return the writes that add a table to the list or remove it; empty if nothing is to be written."""
    folder = _folder(store)
    path = f"{folder}/{table}"
    if store.connection.exists(path) == is_paused:
        return []
    if not is_paused:
        return [DeleteNode(path)]
    if not store.connection.exists(folder):
        with suppress(ConflictError):  # another client was first
            store.connection.create(folder, b"")
    return [CreateNode(path, b"")]


def _folder(store: PropertyStore) -> str:
    return f"/{store.cluster_name}/PINOT_PLUGINS/paused_tables"
