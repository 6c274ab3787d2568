"""How much data a change concerns: segments and bytes, and what a shorter retention deletes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.as_code.objects import Document
from controller_client.common.names import TableName, TableType
from controller_client.errors import PinotPluginError
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore, segment_path

__all__ = ["DataSize", "expired_segments", "retention_ms", "size_of"]

_UNITS_MS = {
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}


@dataclass(frozen=True)
class DataSize:
    """An amount of data.

    Attributes:
        segments: Number of segments.
        size_bytes: Their size on all servers, as the servers report it; None if unknown.
    """

    segments: int = 0
    size_bytes: int | None = 0

    def __add__(self, other: DataSize) -> DataSize:
        known = self.size_bytes is not None and other.size_bytes is not None
        total = (self.size_bytes or 0) + (other.size_bytes or 0)
        return DataSize(self.segments + other.segments, total if known else None)


def size_of(client: RestClient, table: TableName) -> DataSize:
    """Return the size of a table's data, including replaced segments; queries all its servers.

    Raises:
        NotFoundError: There is no such table.
    """
    segments = len(client.tables.ideal_state(table))
    if not segments:
        return DataSize()
    try:
        return DataSize(segments, client.tables.size(table).reported_bytes)
    except PinotPluginError:
        return DataSize(segments, None)  # a server does not answer; that must not fail the plan


def retention_ms(table: TableName, config: Document) -> int | None:
    """Return how long Pinot keeps a table's segments, in milliseconds; None: forever.

    It raises nothing: as in Pinot, a value that cannot be read deletes nothing.
    """
    segments = config.get("segmentsConfig") or {}
    batch = (config.get("ingestionConfig") or {}).get("batchIngestionConfig") or {}
    push = batch.get("segmentIngestionType") or segments.get("segmentPushType") or "APPEND"
    if table.type is TableType.OFFLINE and str(push).upper() != "APPEND":
        return None
    unit = _UNITS_MS.get(str(segments.get("retentionTimeUnit") or "").upper())
    value = str(segments.get("retentionTimeValue") or "")
    return int(value) * unit if unit and value.isdecimal() else None


def expired_segments(store: PropertyStore, table: TableName, keep_ms: int, now_ms: int) -> set[str]:
    """Return the segments that Pinot would delete now with a given retention.

    Args:
        store: The cluster's property store.
        table: Name with type.
        keep_ms: The retention.
        now_ms: Now, in epoch milliseconds.
    """
    names = store.children(f"/SEGMENTS/{table}")
    records = store.get_many([segment_path(table, name) for name in names])
    ends = {
        name: _end_ms(found.record.simple_fields) for name, found in zip(names, records, strict=True) if found
    }
    return {name for name, end in ends.items() if end is not None and end < now_ms - keep_ms}


def _end_ms(fields: Mapping[str, str]) -> int | None:
    """Return when a segment's rows end, in epoch milliseconds; None if unknown: the segment is kept."""
    end, unit = fields.get("segment.end.time", ""), fields.get("segment.time.unit", "")
    if fields.get("segment.realtime.status") == "IN_PROGRESS" or not end.isdecimal() or unit not in _UNITS_MS:
        return None
    return int(end) * _UNITS_MS[unit] if int(end) > 0 else None
