"""Stream segments: their names, and the property store's records of each partition's last segments.

A name is ``<table>__<partition group>__<sequence number>__<creation time>``; uploaded segments have other
names and are ignored.

In a table with ``pauselessConsumptionEnabled`` (Pinot 1.4 and later), the next segment consumes while the
previous one is still being built. The latter's record is then ``COMMITTING``: its end offset is fixed, but it
has neither URL nor CRC, and its rows are only in the memory of its servers and in the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller_client.common.names import SegmentName, TableName
from controller_client.common.parsing import whole_number
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path, segments_path

__all__ = [
    "PLACEHOLDER",
    "PartitionSegments",
    "StreamSegment",
    "newest_by_partition",
    "read_committing",
    "read_partitions",
    "read_segment",
]

PLACEHOLDER = "pinotPluginsPlaceholder"
"""Simple field that marks a segment used only for its start offset, see :mod:`.offsets`."""

_IN_PROGRESS = "IN_PROGRESS"
_COMMITTING = "COMMITTING"


@dataclass(frozen=True)
class StreamSegment:
    """A segment's record in the property store.

    Attributes:
        segment: The segment.
        status: ``IN_PROGRESS`` while it consumes, ``COMMITTING`` while it is built (pauseless tables), then
            ``DONE``; ``UPLOADED`` after a manual repair.
        start_offset: First offset; None if the record has none.
        end_offset: The offset after its last row; None while it consumes.
        created_ms: When the controller created it, epoch milliseconds.
        is_placeholder: Whether it is used only for its start offset.
        record: All fields.
        version: The znode's version.
    """

    segment: SegmentName
    status: str
    start_offset: str | None
    end_offset: str | None
    created_ms: int | None
    is_placeholder: bool
    record: ZNRecord
    version: int

    @property
    def committed(self) -> bool:
        """Whether its rows are stored safely."""
        return self.status not in (_IN_PROGRESS, _COMMITTING)

    @property
    def committing(self) -> bool:
        """Whether its last row has been consumed but it has not been built yet."""
        return self.status == _COMMITTING

    @property
    def ended(self) -> bool:
        """Whether its end offset is fixed: consumption continues there, in the next segment."""
        return self.status != _IN_PROGRESS


@dataclass(frozen=True)
class PartitionSegments:
    """The last segments of a partition in the property store.

    Attributes:
        newest: The segment with the highest sequence number.
        last_committed: The newest committed segment; None if there is none yet.
        committing: Later segments that have not been built yet, in the order of their rows.
    """

    newest: StreamSegment
    last_committed: StreamSegment | None
    committing: tuple[StreamSegment, ...] = ()

    @property
    def committed_offset(self) -> str | None:
        """The offset after the last safely stored row; None before the first commit."""
        return self.last_committed.end_offset if self.last_committed else None

    @property
    def next_offset(self) -> str | None:
        """The offset where consumption continues, after the last ended segment; None if none has ended."""
        return self.committing[-1].end_offset if self.committing else self.committed_offset


def newest_by_partition(names: Iterable[str]) -> dict[int, SegmentName]:
    """Return the segment with the highest sequence number of each partition."""
    newest: dict[int, SegmentName] = {}
    for segment in filter(None, map(SegmentName.parse, names)):
        newest[segment.partition] = max(segment, newest.get(segment.partition, segment))
    return newest


def read_segment(store: PropertyStore, table: TableName, segment: SegmentName) -> StreamSegment | None:
    """Return a segment's record; None if it no longer exists."""
    return _read_many(store, table, [segment])[0]


def read_partitions(store: PropertyStore, table: TableName) -> dict[int, PartitionSegments]:
    """Return the last segments of all partitions, by partition.

    Args:
        store: The cluster's property store.
        table: Name with type.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    by_partition: dict[int, list[SegmentName]] = {}
    for segment in filter(None, map(SegmentName.parse, store.children(segments_path(table)))):
        if segment.name.startswith(f"{table.raw}__"):
            by_partition.setdefault(segment.partition, []).append(segment)
    left = {partition: sorted(segments) for partition, segments in by_partition.items()}
    newest: dict[int, StreamSegment] = {}
    committed: dict[int, StreamSegment] = {}
    committing: dict[int, list[StreamSegment]] = {}
    while left:
        # The newest is not committed while it consumes, so one or two rounds are enough for all partitions.
        requested = [segments.pop() for segments in left.values()]
        for record in filter(None, _read_many(store, table, requested)):
            newest.setdefault(record.segment.partition, record)
            if record.committed:
                committed[record.segment.partition] = record
            elif record.committing:
                committing.setdefault(record.segment.partition, []).append(record)
        left = {key: segments for key, segments in left.items() if segments and key not in committed}
    return {
        partition: PartitionSegments(
            record, committed.get(partition), tuple(reversed(committing.get(partition, ())))
        )
        for partition, record in sorted(newest.items())
    }


def read_committing(
    store: PropertyStore, table: TableName, partitions: Mapping[int, PartitionSegments]
) -> list[StreamSegment]:
    """Return the segments that have ended but not been built yet, in the order of partitions and rows.

    Args:
        store: The cluster's property store.
        table: Name with type.
        partitions: The result of :func:`read_partitions`. An earlier segment may be stuck while later ones
            are built, so Pinot's own list is read too.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    records = {record.segment: record for each in partitions.values() for record in each.committing}
    listed = store.get(f"/PAUSELESS_DEBUG_METADATA/{table}")
    names = listed.record.list_fields.get("committingSegments", []) if listed else []
    others = [each for each in map(SegmentName.parse, names) if each and each not in records]
    # The list is cleaned up only occasionally; the records are authoritative.
    for record in filter(None, _read_many(store, table, others)):
        if record.committing:
            records[record.segment] = record
    return [records[segment] for segment in sorted(records)]


def _read_many(
    store: PropertyStore, table: TableName, segments: list[SegmentName]
) -> list[StreamSegment | None]:
    found = store.get_many([segment_path(table, segment.name) for segment in segments])
    return [
        _record(segment, versioned.record, versioned.version) if versioned else None
        for segment, versioned in zip(segments, found, strict=True)
    ]


def _record(segment: SegmentName, record: ZNRecord, version: int) -> StreamSegment:
    fields = record.simple_fields
    return StreamSegment(
        segment=segment,
        status=fields.get("segment.realtime.status", "UPLOADED"),
        start_offset=fields.get("segment.realtime.startOffset"),
        end_offset=fields.get("segment.realtime.endOffset"),
        created_ms=whole_number(fields.get("segment.creation.time")),
        is_placeholder=fields.get(PLACEHOLDER) == "true",
        record=record,
        version=version,
    )
