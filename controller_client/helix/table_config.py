"""A table's config in the property store: each part as JSON in its own field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_client.common.names import TableName
from controller_client.models import TableConfig
from controller_client.models.table import record_document
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["TABLES_PATH", "read_table_config", "table_config_path", "watch_table_names"]

TABLES_PATH = "/CONFIGS/TABLE"
"""Path of the tables in the property store, by name with type."""


def table_config_path(table: TableName) -> str:
    """Return the path of a table's config in the property store; the name is with type."""
    return f"{TABLES_PATH}/{table}"


def watch_table_names(store: PropertyStore, changed: Callable[[Any], None]) -> list[TableName]:
    """Return the names of all tables, of all databases.

    Args:
        store: The cluster's property store.
        changed: Called once, in kazoo's thread, when a table is added or removed or the session is lost.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    found = store.connection.read_children(store.absolute(TABLES_PATH), changed)
    return [table for table in map(TableName.parse, found.names) if table]


def read_table_config(
    store: PropertyStore, table: TableName, changed: Callable[[Any], None] | None = None
) -> TableConfig | None:
    """Read a table's config without the controller; None if there is no such table.

    Args:
        store: The cluster's property store.
        table: Name with type.
        changed: Called once, in kazoo's thread, when it changes or the session is lost.

    Raises:
        DataError: The znode does not contain a record.
        ConfigError: It is not a table config.
        UnreachableError: ZooKeeper does not answer.
    """
    path = table_config_path(table)
    found = store.connection.read(store.absolute(path), changed)
    if found is None or not found.content:
        return None
    record = ZNRecord.from_bytes(found.content, where=path)
    return TableConfig.from_json(record_document(record.simple_fields))
