"""Partitions whose newest segments are gone: Pinot would resume them where rows are read twice.

Pinot continues a partition after its newest segment, and one without segments at the stream's first row. If
the newest segments were deleted, or merged into others (MergeRollupTask), it reads rows again that it has
read before: those of merged segments are then in the table twice.

What is known of the segments that are gone is in the record of the pause, which notes where the rows of each
partition end, and in the lineage, which names the segments that others have replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.state.pause_record import PauseRecord
from controller_client.consumption.state.pinots_pauses import is_topic_paused
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import PartitionSegments, newest_by_partition
from controller_client.rest.capabilities import Capability
from controller_client.rest.client import RestClient
from controller_client.rest.lineage_entry import LineageEntry, LineageState
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import topic_index

__all__ = ["LostEnd", "find_lost_ends", "partitions_left_out", "read_lineage_of"]


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
    ends = dict(record.ends or {}) if record is not None and record.explains(ideal) else {}
    starts = {number: each.next_offset for number, each in partitions.items()}
    gone = {number for number, end in ends.items() if starts.get(number) != end}
    present = {number: each.sequence for number, each in map(_newest, partitions.items()) if each}
    merged = _newest_merged(table, lineage)
    gone |= {number for number, sequence in merged.items() if present.get(number, -1) < sequence}
    if ideal.flags.table_paused:
        gone |= _never_new({*present, *ends, *merged}, stream) - present.keys()
    gone -= newest_by_partition(ideal.consuming).keys()
    return {
        number: LostEnd(number, starts.get(number), ends.get(number))
        for number in sorted(gone)
        if not is_topic_paused(ideal, number) and (not stream or number in stream)
    }


def partitions_left_out(
    ideal: IdealState, partitions: Mapping[int, PartitionSegments], stream: Mapping[int, OffsetRange]
) -> list[int]:
    """Return the partitions whose segments are all gone and for which no resume creates one.

    Pinot takes the number of partitions that have segments for the number of the first new one. So it creates
    segments for the topic's last partitions, whose segments may be there, and for none before these.

    Args:
        ideal: The table's ideal state.
        partitions: The last segments in the property store.
        stream: The stream's offsets; empty if they could not be read.
    """
    present = {number for number, newest in map(_newest, partitions.items()) if newest}
    missing = _before_last(present, stream) - present
    return sorted(number for number in missing if not is_topic_paused(ideal, number))


def read_lineage_of(
    client: RestClient, table: TableName, ideal: IdealState, partitions: Mapping[int, PartitionSegments]
) -> list[LineageEntry]:
    """Return the lineage of a table if one of its partitions does not consume; otherwise an empty list."""
    all_consume = partitions.keys() <= newest_by_partition(ideal.consuming).keys()
    if all_consume or not client.cluster.capabilities().has(Capability.LIST_LINEAGE):
        return []
    return client.lineage.list(table)


def _newest_merged(table: TableName, lineage: list[LineageEntry]) -> dict[int, int]:
    """Return the newest segment of each partition that others have replaced, by sequence number."""
    sequences: dict[int, int] = {}
    for entry in lineage:
        for segment in filter(None, map(SegmentName.parse, entry.segments_from)):
            if entry.state is LineageState.COMPLETED and segment.table == table:
                sequences[segment.partition] = max(segment.sequence, sequences.get(segment.partition, 0))
    return sequences


def _newest(partition: tuple[int, PartitionSegments]) -> tuple[int, SegmentName | None]:
    number, segments = partition
    record = segments.last_committed if segments.newest.is_placeholder else segments.newest
    return number, record.segment if record else None


def _never_new(partitions: set[int], stream: Mapping[int, OffsetRange]) -> set[int]:
    """Return the stream's partitions that cannot have been added during a pause.

    A topic's new partitions have the next numbers, and a pause commits a segment of each partition. So if no
    segment is known, not even the first partition is new.
    """
    if not partitions:
        return set(stream) or {0}
    return _before_last(partitions, stream)


def _before_last(known: Collection[int], stream: Collection[int]) -> set[int]:
    """Return the stream's partitions with lower numbers than the last known one of their topic."""
    last: dict[int, int] = {}
    for number in known:
        last[topic_index(number)] = max(number, last.get(topic_index(number), number))
    return {number for number in stream if number < last.get(topic_index(number), number)}
