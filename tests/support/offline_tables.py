"""Configs of the offline tables of tests and benchmarks."""

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
        replicas: Number of replicas of each segment.
        schema_name: Default: the table's name.
        time_column: Its time column, if any.
        tenant: Its server tenant; None: the default tenant.
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
