"""How much data a change concerns: segments and bytes, and what a shorter retention deletes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.errors import PinotPluginError
from controller_client.models.retention import UNITS_MS
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore, segment_path, segments_path

__all__ = ["DataSize", "expired_segments", "size_of"]


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


def expired_segments(store: PropertyStore, table: TableName, keep_ms: int, now_ms: int) -> set[str]:
    """Return the segments that Pinot would delete now with a given retention.

    Args:
        store: The cluster's property store.
        table: Name with type.
        keep_ms: The retention.
        now_ms: Now, in epoch milliseconds.
    """
    names = store.children(segments_path(table))
    records = store.get_many([segment_path(table, name) for name in names])
    ends = {
        name: _end_ms(found.record.simple_fields) for name, found in zip(names, records, strict=True) if found
    }
    return {name for name, end in ends.items() if end is not None and end < now_ms - keep_ms}


def _end_ms(fields: Mapping[str, str]) -> int | None:
    """Return when a segment's rows end, in epoch milliseconds; None if unknown: the segment is kept."""
    end, unit = whole_number(fields.get("segment.end.time")), fields.get("segment.time.unit", "")
    if fields.get("segment.realtime.status") == "IN_PROGRESS" or not end or unit not in UNITS_MS:
        return None
    return end * UNITS_MS[unit]
