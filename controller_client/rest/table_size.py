"""The size of a table on its servers' disks, by segment and server. No IO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.rest.segment_states import SegmentStates

__all__ = ["SegmentSize", "TableSize"]

_PARTS = {TableType.OFFLINE: "offlineSegments", TableType.REALTIME: "realtimeSegments"}


@dataclass(frozen=True)
class SegmentSize:
    """The size of a segment's replicas.

    Attributes:
        segment: Its name.
        reported_bytes: Sum of the reported sizes; None if no server has reported.
        estimated_bytes: The same, with each missing report replaced by the largest replica.
        servers: Server -> reported bytes; None if it did not answer.
    """

    segment: str
    reported_bytes: int | None
    estimated_bytes: int | None
    servers: Mapping[str, int | None]

    @property
    def replica_bytes(self) -> int | None:
        """The size of the largest replica; None if no server has reported."""
        return max((size for size in self.servers.values() if size is not None), default=None)


@dataclass(frozen=True)
class TableSize:
    """The size of a table (name with type).

    Attributes:
        table: The table.
        reported_bytes: Sum of the reported sizes; None if no server has reported.
        estimated_bytes: The same, with estimates for missing reports; None if nothing is known.
        segments: Its segments, sorted by name.
    """

    table: str
    reported_bytes: int | None
    estimated_bytes: int | None
    segments: tuple[SegmentSize, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Segments that no server has reported, e.g. because all of their servers are down."""
        return tuple(each.segment for each in self.segments if each.replica_bytes is None)

    @property
    def silent_servers(self) -> tuple[str, ...]:
        """Servers that should have a segment but did not report its size."""
        found = {server for each in self.segments for server, size in each.servers.items() if size is None}
        return tuple(sorted(found))

    def by_server(self) -> dict[str, tuple[int, int]]:
        """Return server -> number of reported segments and their bytes."""
        totals: dict[str, tuple[int, int]] = {}
        for each in self.segments:
            for server, size in sorted(each.servers.items()):
                count, total = totals.get(server, (0, 0))
                totals[server] = (count + 1, total + size) if size is not None else (count, total)
        return totals

    def segment_bytes(self) -> dict[str, int]:
        """Return segment -> size of a replica, for all segments that a server has reported."""
        return {each.segment: each.replica_bytes for each in self.segments if each.replica_bytes is not None}

    @classmethod
    def from_json(cls, table: str, document: Mapping[str, Any], ideal: SegmentStates) -> TableSize:
        """Parse Pinot's response, which omits segments that a responding server does not have.

        Args:
            table: The table, with its type.
            document: The response for the table with this name and type.
            ideal: The table's ideal state: what servers should have.
        """
        part: Mapping[str, Any] = document.get(_PARTS[TableName(table).type]) or {}
        segments: dict[str, Mapping[str, Any]] = dict(part.get("segments") or {})
        return cls(
            table=table,
            reported_bytes=_bytes(part.get("reportedSizeInBytes")),
            estimated_bytes=_bytes(part.get("estimatedSizeInBytes")),
            segments=tuple(
                _segment(name, segments.get(name) or {}, ideal.get(name) or {})
                for name in sorted(segments.keys() | ideal.keys())
            ),
        )


def _segment(name: str, document: Mapping[str, Any], should_have: Mapping[str, str]) -> SegmentSize:
    reported: Mapping[str, Mapping[str, Any]] = document.get("serverInfo") or {}
    return SegmentSize(
        segment=name,
        reported_bytes=_bytes(document.get("reportedSizeInBytes")),
        estimated_bytes=_bytes(document.get("estimatedSizeInBytes")),
        servers={
            server: _bytes((reported.get(server) or {}).get("diskSizeInBytes"))
            for server in sorted(reported.keys() | should_have.keys())
        },
    )


def _bytes(value: int | None) -> int | None:
    # -1 means not reported.
    return None if value is None or value < 0 else int(value)
