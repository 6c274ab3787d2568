"""The consumption status of a table, partition by partition, combined from all sources, and its texts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from controller_client.common.names import SegmentName, TableName
from controller_client.common.parsing import whole_number
from controller_client.common.text import counted_text, utc_text
from controller_client.consumption.state.lost_ends import LostEnd
from controller_client.consumption.state.pause_record import Holder, PauseRecord
from controller_client.consumption.state.pinots_pauses import is_topic_paused
from controller_client.helix.ideal_state import IdealState, PinotPause
from controller_client.helix.stream_segments import PartitionSegments, StreamSegment, newest_by_partition
from controller_client.rest.consumption import ReplicaProgress
from controller_client.rest.tables import SegmentStates
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import TopicPartition, topic_partition

__all__ = [
    "Observation",
    "PartitionState",
    "PartitionStatus",
    "TableState",
    "TableStatus",
    "assess",
    "note",
    "time_text",
]


class PartitionState(StrEnum):
    """The state of a partition."""

    CONSUMING = "consuming"
    STARTING = "starting"
    """It should consume, but no server does yet."""
    COMMITTING = "committing"
    """Its segment is not yet sealed or built, and no other follows: the table is paused, or the commit is in
    progress."""
    PAUSED = "paused"
    PARTITION_PAUSED = "partition_paused"
    """Only the partition is paused: every server of it keeps its consuming segment empty."""
    PARTITION_PAUSING = "partition_pausing"
    """Only the partition is being paused, and a server still consumes it."""
    FAILED = "failed"
    """It should consume, but it has failed on all of its servers."""
    STOPPED = "stopped"
    """The table is not paused, but the partition has no consuming segment."""
    GONE = "gone"
    """The stream no longer has this partition."""


class TableState(StrEnum):
    """The state of a table."""

    CONSUMING = "consuming"
    PAUSED = "paused"
    """The flag is set and nothing consumes: no more rows arrive."""
    PAUSING = "pausing"
    """The flag is set, but something still consumes."""
    INCOMPLETE = "incomplete"
    """The flag is not set, but not all partitions consume: just resumed, or something is wrong."""
    DISABLED = "disabled"


@dataclass(frozen=True)
class Observation:
    """Everything that a status is derived from, read at one moment.

    Attributes:
        ideal: The ideal state.
        partitions: The last segments by partition.
        view: What servers report: segment -> server -> state.
        progress: The progress of servers: segment -> replicas.
        stream: The stream's offsets by partition; empty if they could not be read.
        stream_problem: Why they could not be read.
        record: Who paused, when and why; None if nobody recorded it.
        still_consuming: Servers that still consume a partition that should be paused, by partition.
        partition_holders: Who paused single partitions.
        streams: The stream configs of a table with several topics or a paused one; empty for other tables.
        committing: Segments of pauseless tables that have ended and are not yet built.
        lost_ends: Partitions whose newest segments are gone.
    """

    ideal: IdealState
    partitions: Mapping[int, PartitionSegments]
    view: SegmentStates
    progress: Mapping[str, tuple[ReplicaProgress, ...]]
    stream: Mapping[int, OffsetRange]
    stream_problem: str | None
    record: PauseRecord | None
    still_consuming: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    partition_holders: Mapping[int, Holder] = field(default_factory=dict)
    committing: Sequence[StreamSegment] = ()
    streams: Sequence[StreamConfig] = ()
    lost_ends: Mapping[int, LostEnd] = field(default_factory=dict)

    @functools.cached_property
    def consuming(self) -> Mapping[int, SegmentName]:
        """The segments that should consume, by partition."""
        return newest_by_partition(self.ideal.consuming)

    @functools.cached_property
    def building(self) -> Mapping[int, tuple[str, ...]]:
        """The names of the segments that are not yet built, by partition."""
        found: dict[int, list[str]] = {}
        for each in self.committing:
            found.setdefault(each.segment.partition, []).append(each.segment.name)
        return {number: tuple(names) for number, names in found.items()}

    @functools.cached_property
    def newest_in_view(self) -> Mapping[int, SegmentName]:
        """The newest segments that servers have, by partition."""
        return newest_by_partition(self.view)


@dataclass(frozen=True)
class PartitionStatus:
    """The status of one partition.

    Attributes:
        partition: Partition group.
        state: Its state.
        segment: Its consuming segment, or else its last one; None if it never had one.
        servers: Servers that should consume it, or still do.
        offset: The next offset to read; None if nobody reports it.
        committed_offset: Where the committed rows end; None before the first commit.
        building: Its segments that are fully consumed but not yet built (pauseless tables).
        earliest_offset: First offset that the stream still has.
        latest_offset: The offset that the stream's next row will get.
        lag: Rows in the stream that have not been read yet.
        lost: Range of rows (first, end exclusive) that the stream dropped before they were read.
        segment_created_ms: When the controller created the segment, i.e. when the previous one was committed.
        paused_by: Who paused only this partition; None if nobody did, or nobody recorded it.
        topic_partition: Its topic and partition in the stream, for a table with several topics.
        lost_end: Where it would be resumed although its newest segments are gone, in words; None if they are
            there.
    """

    partition: int
    state: PartitionState
    segment: str | None = None
    servers: tuple[str, ...] = ()
    offset: str | None = None
    committed_offset: str | None = None
    building: tuple[str, ...] = ()
    earliest_offset: int | None = None
    latest_offset: int | None = None
    lag: int | None = None
    lost: tuple[int, int] | None = None
    segment_created_ms: int | None = None
    paused_by: Holder | None = None
    topic_partition: TopicPartition | None = None
    lost_end: str | None = None

    @property
    def ahead(self) -> bool:
        """Whether its offset is past the stream's end: the topic was recreated, or is a different one."""
        offset = whole_number(self.offset)
        return offset is not None and self.latest_offset is not None and offset > self.latest_offset


@dataclass(frozen=True)
class TableStatus:
    """The status of one table.

    Attributes:
        table: Name with type.
        state: Its state.
        partitions: Its partitions, in the order of their numbers.
        holders: Who wants it paused; empty if nobody recorded it.
        foreign: Whether it was already paused before the first holder.
        pinot_pause: What Pinot itself records about the pause, since 1.3.
        stream_problem: Why lag and lost rows are unknown.
        paused_topics: Topics that are paused separately: index and name.
    """

    table: TableName
    state: TableState
    partitions: tuple[PartitionStatus, ...]
    holders: tuple[Holder, ...] = ()
    foreign: bool = False
    pinot_pause: PinotPause | None = None
    stream_problem: str | None = None
    paused_topics: Mapping[int, str] = field(default_factory=dict)

    def in_state(self, *states: PartitionState) -> tuple[PartitionStatus, ...]:
        """Return the partitions that are in one of these states."""
        return tuple(each for each in self.partitions if each.state in states)


def assess(table: TableName, seen: Observation) -> TableStatus:
    """Derive a table's status from an observation."""
    in_ideal = newest_by_partition(seen.ideal.segments)
    numbers = sorted({*in_ideal, *seen.partitions, *seen.stream, *seen.lost_ends})
    partitions = tuple(_partition(number, seen) for number in numbers)
    record = seen.record if seen.record and seen.record.explains(seen.ideal) else None
    return TableStatus(
        table,
        _table_state(seen.ideal, partitions),
        partitions,
        tuple(sorted(record.holders.values(), key=lambda each: each.since_ms)) if record else (),
        bool(record and record.foreign),
        seen.ideal.pinot_pause,
        seen.stream_problem,
        {index: _topic_name(seen.streams, index) for index in sorted(seen.ideal.paused_topics)},
    )


def _topic_name(streams: Sequence[StreamConfig], index: int) -> str:
    return streams[index].topic if index < len(streams) else "?"


def _table_state(ideal: IdealState, partitions: tuple[PartitionStatus, ...]) -> TableState:
    if not ideal.enabled:
        return TableState.DISABLED
    still = (PartitionState.PAUSED, PartitionState.PARTITION_PAUSED, PartitionState.GONE)
    if ideal.flags.table_paused:
        return TableState.PAUSED if all(each.state in still for each in partitions) else TableState.PAUSING
    # In a table that is not paused, a paused partition belongs to a topic that is paused separately.
    fine = (*still, PartitionState.CONSUMING)
    return TableState.CONSUMING if all(each.state in fine for each in partitions) else TableState.INCOMPLETE


def _partition(number: int, seen: Observation) -> PartitionStatus:
    consuming = seen.consuming.get(number)
    segments = seen.partitions.get(number)
    newest = segments.newest if segments else None
    name = consuming.name if consuming else (newest.segment.name if newest else None)
    servers = _servers(name, number, seen)
    reported = [replica for replica in seen.progress.get(name or "", ()) if replica.offset is not None]
    next_offset = segments.next_offset if segments else None
    offsets = [replica.offset for replica in reported if replica.offset is not None]
    offset = _furthest(offsets) if consuming else None
    offset = offset or next_offset or (newest.start_offset if newest else None)
    stream, at = seen.stream.get(number), whole_number(offset)
    lag = stream.latest - at if stream and at is not None else None
    if lag is None and reported:
        lags = [replica.lag for replica in reported if replica.lag is not None]
        lag = min(lags) if lags else None
    lost = (at, stream.earliest) if stream and at is not None and at < stream.earliest else None
    return PartitionStatus(
        number,
        _partition_state(number, name if consuming else None, servers, seen),
        name,
        servers,
        offset,
        segments.committed_offset if segments else None,
        seen.building.get(number, ()),
        stream.earliest if stream else None,
        stream.latest if stream else _furthest_number(reported),
        max(lag, 0) if lag is not None else None,
        lost,
        newest.created_ms if newest else None,
        seen.partition_holders.get(number) if number in seen.ideal.flags.paused_partitions else None,
        topic_partition(seen.streams, number) if len(seen.streams) > 1 else None,
        str(seen.lost_ends[number]) if number in seen.lost_ends else None,
    )


def _partition_state(
    number: int, consuming: str | None, servers: tuple[str, ...], seen: Observation
) -> PartitionState:
    paused = seen.ideal.flags.table_paused or is_topic_paused(seen.ideal, number)
    if consuming is None:
        if servers or (paused and number in seen.building):
            return PartitionState.COMMITTING
        if seen.stream and number not in seen.stream:
            return PartitionState.GONE
        return PartitionState.PAUSED if paused else PartitionState.STOPPED
    view = seen.view.get(consuming, {})
    gave_up = {each.server for each in seen.progress.get(consuming, ()) if not each.consuming}
    if all(view.get(server) == "ERROR" or server in gave_up for server in servers):
        return PartitionState.FAILED
    segments = seen.partitions.get(number)
    if segments and segments.newest.segment.name == consuming and segments.newest.ended:
        # Normal for a moment during each commit; it lasts if the controller is killed in that moment.
        return PartitionState.COMMITTING
    listed = number in seen.ideal.flags.paused_partitions
    if listed and number not in seen.still_consuming:
        return PartitionState.PARTITION_PAUSED
    if paused:
        return PartitionState.COMMITTING
    if listed:
        return PartitionState.PARTITION_PAUSING
    return PartitionState.CONSUMING if "CONSUMING" in view.values() else PartitionState.STARTING


def _servers(name: str | None, number: int, seen: Observation) -> tuple[str, ...]:
    """Return the servers that should consume the partition, or have not sealed its last segment yet."""
    if name is not None and name in seen.ideal.consuming:
        return seen.ideal.consuming[name]
    last = seen.newest_in_view.get(number)
    states = seen.view.get(last.name, {}) if last else {}
    return tuple(sorted(server for server, state in states.items() if state == "CONSUMING"))


def _furthest(offsets: list[str]) -> str | None:
    """Return the greatest offset; if offsets are not numbers, any of them."""
    numbers = [number for number in map(whole_number, offsets) if number is not None]
    return str(max(numbers)) if numbers else (offsets[0] if offsets else None)


def _furthest_number(reported: list[ReplicaProgress]) -> int | None:
    offsets = [each.latest_offset for each in reported if each.latest_offset is not None]
    return whole_number(_furthest(offsets))


def note(partition: PartitionStatus) -> str:
    """Return the partition's topic, if its table has several, and its problem; empty if there is neither."""
    return "; ".join(filter(None, (str(partition.topic_partition or ""), _finding(partition))))


def _finding(partition: PartitionStatus) -> str:
    if partition.lost_end:
        return partition.lost_end
    if partition.lost:
        first, end = partition.lost
        lost = counted_text(end - first, "unread offset")
        return f"the stream has dropped {lost}: {first} to {end - 1}"
    if partition.ahead:
        return f"the stream ends at {partition.latest_offset}, before this offset"
    if partition.building:
        return f"not yet built: {', '.join(partition.building)}"
    return ""


def time_text(epoch_ms: int | None) -> str:
    """Format a time in UTC, to the second; ``-`` if unknown."""
    if epoch_ms is None:
        return "-"
    return utc_text(epoch_ms, "T")
