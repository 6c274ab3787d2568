"""How far a table's consumption is, partition by partition, put together from all sources."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.pause_record import Holder, PauseRecord
from controller_client.consumption.pinots_pauses import is_topic_paused
from controller_client.helix.ideal_state import IdealState, PinotPause
from controller_client.helix.stream_segments import PartitionSegments, SegmentRecord, newest_by_partition
from controller_client.rest.consumption import ReplicaProgress
from controller_client.rest.tables import SegmentStates
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import TopicPartition, topic_partition

__all__ = ["Observation", "PartitionState", "PartitionStatus", "TableState", "TableStatus", "assess"]


class PartitionState(StrEnum):
    """What a partition is at."""

    CONSUMING = "consuming"
    STARTING = "starting"
    """It should consume, and no server does yet."""
    COMMITTING = "committing"
    """Its segment is not sealed or built yet, and no other follows: the table is paused, or the commit has
    not ended."""
    PAUSED = "paused"
    HELD = "held"
    """The partition alone is paused: every server of it keeps its consuming segment empty."""
    HOLDING = "holding"
    """The partition alone is being paused, and a server still consumes it."""
    FAILED = "failed"
    """It should consume, and every server that should has given up."""
    STOPPED = "stopped"
    """The table is not paused, but the partition has no consuming segment."""
    GONE = "gone"
    """The stream has no such partition any more."""


class TableState(StrEnum):
    """What a table is at."""

    CONSUMING = "consuming"
    PAUSED = "paused"
    """The flag is set, and nothing consumes: no row arrives any more."""
    PAUSING = "pausing"
    """The flag is set, but something still consumes."""
    INCOMPLETE = "incomplete"
    """The flag is not set, but not all partitions consume: just resumed, or something is wrong."""
    DISABLED = "disabled"


@dataclass(frozen=True)
class Observation:
    """Everything that a status is made from, read at one moment.

    Attributes:
        ideal: The ideal state.
        partitions: The last segments by partition.
        view: What servers report that they hold: segment -> server -> state.
        progress: How far servers are: segment -> replicas.
        stream: What the stream holds by partition; empty where it is not known.
        stream_problem: Why it is not known.
        record: Who paused, when and why; None where nobody wrote it down.
        still_consuming: Servers that still consume a partition that is to be paused, by partition.
        partition_holders: Who paused single partitions.
        streams: The stream configs of a table that has several topics, or a paused one; empty for others.
        committing: Segments that have ended and are not built yet, of pauseless tables.
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
    committing: Sequence[SegmentRecord] = ()
    streams: Sequence[StreamConfig] = ()

    @functools.cached_property
    def consuming(self) -> Mapping[int, SegmentName]:
        """The segments that should consume, by partition."""
        return newest_by_partition(self.ideal.consuming)

    @functools.cached_property
    def building(self) -> Mapping[int, tuple[str, ...]]:
        """The names of the segments that are not built yet, by partition."""
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
    """One partition.

    Attributes:
        partition: Partition group.
        state: What it is at.
        segment: Its consuming segment, else its last one; None for a partition that never had one.
        servers: Those that should consume it, or still do.
        offset: The next offset to be read; None where nobody reports it.
        committed_offset: Where the committed rows end; None before the first commit.
        building: Segments of it that are consumed to their end, but not built yet (pauseless tables).
        earliest_offset: First offset that the stream still has.
        latest_offset: The offset that the stream's next row will get.
        lag: Rows in the stream that are not read yet.
        lost: Rows (from, to behind the last) that the stream has dropped before they were read.
        segment_created_ms: When the controller made the segment: when the one before it was committed.
        paused_by: Who paused this partition alone; None where nobody did, or nobody wrote it down.
        topic_partition: What it is in the stream, in a table of several topics.
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

    @property
    def ahead(self) -> bool:
        """Whether it stands behind the stream's end: the topic was made anew, or is another one."""
        offset = _number(self.offset)
        return offset is not None and self.latest_offset is not None and offset > self.latest_offset


@dataclass(frozen=True)
class TableStatus:
    """One table.

    Attributes:
        table: Name with type.
        state: What it is at.
        partitions: By number.
        holders: Who wants it paused; empty where nobody wrote it down.
        foreign: Whether it was paused before the first of them came.
        pinot_pause: What Pinot itself keeps about the pause, from 1.3 on.
        stream_problem: Why lag and lost rows are not known.
        paused_topics: Topics that are paused by themselves: index and name.
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
        """Return the partitions that are in one of some states."""
        return tuple(each for each in self.partitions if each.state in states)


def assess(table: TableName, seen: Observation) -> TableStatus:
    """Return a table's status, from what was seen of it."""
    in_ideal = newest_by_partition(seen.ideal.segments)
    numbers = sorted(in_ideal.keys() | seen.partitions.keys() | seen.stream.keys())
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
    if ideal.flags.table_paused:
        still = (PartitionState.PAUSED, PartitionState.HELD, PartitionState.GONE)
        return TableState.PAUSED if all(each.state in still for each in partitions) else TableState.PAUSING
    # A paused partition of a table that is not is one of a topic that is paused by itself.
    fine = (PartitionState.CONSUMING, PartitionState.PAUSED, PartitionState.HELD, PartitionState.GONE)
    return TableState.CONSUMING if all(each.state in fine for each in partitions) else TableState.INCOMPLETE


def _partition(number: int, seen: Observation) -> PartitionStatus:
    consuming = seen.consuming.get(number)
    segments = seen.partitions.get(number)
    newest = segments.newest if segments else None
    name = consuming.name if consuming else (newest.segment.name if newest else None)
    servers = _servers(name, number, seen)
    reported = [each for each in seen.progress.get(name or "", ()) if each.offset is not None]
    next_offset = segments.next_offset if segments else None
    offset = _furthest([each.offset for each in reported if each.offset is not None]) if consuming else None
    offset = offset or next_offset or (newest.start_offset if newest else None)
    stream, at = seen.stream.get(number), _number(offset)
    lag = stream.latest - at if stream and at is not None else None
    if lag is None and reported:
        lags = [each.lag for each in reported if each.lag is not None]
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
        # Usual for a moment of each commit; it lasts when the controller was killed in that moment.
        return PartitionState.COMMITTING
    listed = number in seen.ideal.flags.paused_partitions
    if listed and number not in seen.still_consuming:
        return PartitionState.HELD
    if paused:
        return PartitionState.COMMITTING
    if listed:
        return PartitionState.HOLDING
    return PartitionState.CONSUMING if "CONSUMING" in view.values() else PartitionState.STARTING


def _servers(name: str | None, number: int, seen: Observation) -> tuple[str, ...]:
    """Servers that should consume the partition, or that still hold its last segment unsealed."""
    if name is not None and name in seen.ideal.consuming:
        return seen.ideal.consuming[name]
    last = seen.newest_in_view.get(number)
    states = seen.view.get(last.name, {}) if last else {}
    return tuple(sorted(server for server, state in states.items() if state == "CONSUMING"))


def _furthest(offsets: list[str]) -> str | None:
    """The greatest offset; where offsets are no numbers, any of them."""
    numbers = [number for number in map(_number, offsets) if number is not None]
    return str(max(numbers)) if numbers else (offsets[0] if offsets else None)


def _furthest_number(reported: list[ReplicaProgress]) -> int | None:
    return _number(_furthest([each.latest_offset for each in reported if each.latest_offset is not None]))


def _number(offset: str | None) -> int | None:
    return int(offset) if offset is not None and offset.isascii() and offset.isdigit() else None
