"""Configs of the offline tables that tests and benchmarks make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["offline_table"]


def offline_table(
    name: str,
    *,
    replicas: int = 1,
    schema_name: str | None = None,
    time_column: str | None = None,
    tenant: str | None = None,
    indexing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the config of an offline table.

    Args:
        name: Raw name.
        replicas: On how many servers each segment is.
        schema_name: Default: the table's name.
        time_column: If it has one.
        tenant: Whose servers these are; None: the default tenant's.
        indexing: Its ``tableIndexConfig``.
    """
    segments = {"replication": str(replicas), "schemaName": schema_name or name}
    if time_column is not None:
        segments["timeColumnName"] = time_column
    return {
        "tableName": name,
        "tableType": "OFFLINE",
        "segmentsConfig": segments,
        "tenants": {"server": tenant, "broker": "DefaultTenant"} if tenant else {},
        "tableIndexConfig": dict(indexing or {}),
        "metadata": {},
    }
