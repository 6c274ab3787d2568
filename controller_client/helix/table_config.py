"""A table's config as the property store has it: each part as JSON in a field of its own."""

from __future__ import annotations

import json
from typing import Any

from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.models import TableConfig
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["read_table_config", "table_config_path"]


def table_config_path(table: TableName) -> str:
    """Path of a table's config in the property store; the name is with type."""
    return f"/CONFIGS/TABLE/{table}"


def read_table_config(store: PropertyStore, table: TableName) -> TableConfig | None:
    """Read a table's config without the controller; None where there is no such table.

    Args:
        store: The cluster's property store.
        table: Name with type.

    Raises:
        DataError: The znode holds something else.
        ConfigError: It is no table config.
        UnreachableError: ZooKeeper does not answer.
    """
    found = store.get(table_config_path(table))
    if found is None:
        return None
    document: dict[str, Any] = {}
    for name, text in found.record.simple_fields.items():
        # Names and types stand there plain, all else as JSON.
        is_json = text[:1] in ("{", "[") or text in ("true", "false")
        try:
            document[name] = json.loads(text) if is_json else text
        except ValueError as error:
            raise ConfigError(f"{name} of the config of {table} is not valid JSON", where=table) from error
    return TableConfig.from_json(document)
