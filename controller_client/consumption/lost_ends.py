"""Partitions whose newest segments are gone: Pinot would resume them where rows are read twice.

Pinot continues a partition after its newest segment, and one without segments at the stream's first row. If
the newest segments were deleted, or merged into others (MergeRollupTask), it reads rows again that it has
read before: those of merged segments are then in the table twice.

What is known of the segments that are gone is in the record of the pause, which notes the newest segment of
each partition, and in the lineage, which names the segments that others have replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.pause_record import PauseRecord
from controller_client.consumption.pinots_pauses import is_topic_paused
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import PartitionSegments
from controller_client.rest.capabilities import Capability
from controller_client.rest.client import RestClient
from controller_client.rest.lineage_entry import LineageEntry, LineageState
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import topic_index

__all__ = ["LostEnd", "find_lost_ends", "read_lineage_of"]


@dataclass(frozen=True)
class LostEnd:
    """A partition whose newest segments are gone.

    Attributes:
        partition: Partition group.
        start: The offset where Pinot would continue; None: the stream's first row.
        end: The offset after its last row, as the pause found it; None: not known.
    """

    partition: int
    start: str | None
    end: str | None

    def __str__(self) -> str:
        start = f"at offset {self.start}" if self.start else "at the stream's first row"
        end = f", although its rows end at offset {self.end}" if self.end else ""
        return (
            f"the newest segments of partition {self.partition} are gone: Pinot would continue {start}{end}"
        )


def find_lost_ends(
    table: TableName,
    ideal: IdealState,
    partitions: Mapping[int, PartitionSegments],
    stream: Mapping[int, OffsetRange],
    record: PauseRecord | None,
    lineage: list[LineageEntry],
) -> dict[int, LostEnd]:
    """Return the partitions that do not consume and whose newest segments are gone.

    Args:
        table: Name with type.
        ideal: Its ideal state.
        partitions: The last segments in the property store.
        stream: The stream's offsets; empty if they could not be read.
        record: Who paused the table; None if nobody recorded it.
        lineage: The table's lineage, see :func:`read_lineage_of`.
    """
    noted = record if record is not None and record.explains(ideal) else PauseRecord()
    newest = dict(noted.sequences or {})
    for entry in lineage:
        for segment in filter(None, map(SegmentName.parse, entry.segments_from)):
            if entry.state is LineageState.COMPLETED and segment.table == table:
                newest[segment.partition] = max(segment.sequence, newest.get(segment.partition, 0))
    present = {number: each.sequence for number, each in map(_newest, partitions.items()) if each}
    gone = {number for number, sequence in newest.items() if present.get(number, -1) < sequence}
    if ideal.flags.table_paused:
        gone |= _never_new(present.keys() | newest.keys(), stream) - present.keys()
    consuming = {segment.partition for segment in filter(None, map(SegmentName.parse, ideal.consuming))}
    ends = noted.ends or {}
    return {
        number: LostEnd(
            number, partitions[number].next_offset if number in partitions else None, ends.get(number)
        )
        for number in sorted(gone - consuming)
        if not is_topic_paused(ideal, number) and (not stream or number in stream)
    }


def read_lineage_of(client: RestClient, table: TableName, ideal: IdealState) -> list[LineageEntry]:
    """Return the lineage of a table in which a partition may have lost its end; otherwise an empty list."""
    partitions = {each.partition for each in filter(None, map(SegmentName.parse, ideal.segments))}
    consuming = {each.partition for each in filter(None, map(SegmentName.parse, ideal.consuming))}
    if not ideal.flags.table_paused and partitions <= consuming:
        return []
    if not client.cluster.capabilities().has(Capability.LIST_LINEAGE):
        return []
    return client.lineage.list(table)


def _newest(partition: tuple[int, PartitionSegments]) -> tuple[int, SegmentName | None]:
    number, segments = partition
    record = segments.last_committed if segments.newest.is_placeholder else segments.newest
    return number, record.segment if record else None


def _never_new(known: set[int], stream: Mapping[int, OffsetRange]) -> set[int]:
    """Return the stream's partitions that cannot have been added during a pause.

    A topic's new partitions have the next numbers, and a pause commits a segment of each partition. So if no
    segment is known, not even the first partition is new.
    """
    if not known:
        return set(stream) or {0}
    last: dict[int, int] = {}
    for number in known:
        last[topic_index(number)] = max(number, last.get(topic_index(number), number))
    return {number for number in stream if number < last.get(topic_index(number), number)}
