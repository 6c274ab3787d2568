"""How long Pinot keeps a table's segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.common.parsing import whole_number

__all__ = ["UNITS_MS", "retention_ms"]

UNITS_MS = {
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}
"""Pinot's units of time, in milliseconds."""


def retention_ms(table: TableName, config: Mapping[str, Any]) -> int | None:
    """Return how long Pinot keeps a table's segments, in milliseconds; None: forever.

    It raises nothing: as in Pinot, a value that cannot be read deletes nothing.
    """
    segments = config.get("segmentsConfig") or {}
    batch = (config.get("ingestionConfig") or {}).get("batchIngestionConfig") or {}
    push = batch.get("segmentIngestionType") or segments.get("segmentPushType") or "APPEND"
    if table.type is TableType.OFFLINE and str(push).upper() != "APPEND":
        return None
    unit = UNITS_MS.get(str(segments.get("retentionTimeUnit") or "").upper())
    value = whole_number(str(segments.get("retentionTimeValue") or ""))
    return value * unit if unit and value is not None else None
