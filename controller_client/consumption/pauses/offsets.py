"""Consumption from a given offset in each partition, which no version of Pinot offers.

If all replicas of a partition's newest segment are OFFLINE in the ideal state, Pinot restarts the partition
at the start offset of that segment: that is how it repairs a consumer that gave up. We use this by writing a
placeholder: a segment that consists only of a property-store record with the wanted start offset and an
OFFLINE entry in the ideal state. On resume, Pinot creates the next segment from it, with its own assignment
and its own check against the stream's first offset. Afterwards the placeholder is deleted. No server ever
loads it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping

from controller_client.common.parsing import whole_number
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConfigError, RejectedError
from controller_client.helix.ideal_state import add_offline_segments
from controller_client.helix.stream_segments import (
    PLACEHOLDER,
    PartitionSegments,
    read_partitions,
)
from controller_client.rest.consumption import ConsumeFrom
from controller_client.rest.delete_risks import DeleteRisk
from controller_client.stream.offsets import OffsetRange, StreamUnknownError
from controller_client.zookeeper import ZNRecord, segment_path, segments_path

__all__ = ["check_partitions", "drop_placeholders", "parse_consume_from", "past_end", "place_offsets"]

# As long as Java's int and long.
_PAIR = re.compile(r"([0-9]{1,10})=([0-9]{1,19})")
_NAME = re.compile(r".+__\d+__\d+__\d{8}T\d{6}Z")
_GONE_TIMEOUT_S = 60.0
# What the next segment inherits; everything else describes the committed segment's rows.
_INHERITED = ("segment.flush.threshold.size", "segment.realtime.numReplicas")


def parse_consume_from(text: str) -> ConsumeFrom | dict[int, int]:
    """Read ``smallest``, ``largest``, ``lastConsumed``, or offsets such as ``0=120,3=77``.

    Raises:
        ConfigError: It is neither.
    """
    for each in ConsumeFrom:
        if text.lower() == each.lower():
            return each
    offsets: dict[int, int] = {}
    for part in text.split(","):
        pair = _PAIR.fullmatch(part.strip())
        if pair is None or int(pair[1]) in offsets:
            raise ConfigError(
                f"{text!r} is not an offset to consume from",
                expected="smallest, largest, lastConsumed, or an offset per partition: 0=120,3=77",
            )
        offsets[int(pair[1])] = int(pair[2])
    return offsets


def past_end(partitions: Mapping[int, PartitionSegments], stream: Mapping[int, OffsetRange]) -> list[str]:
    """List the partitions that would resume past the stream's end."""
    faults = []
    for number, segments in partitions.items():
        at = whole_number(segments.next_offset)
        if number in stream and at is not None and at > stream[number].latest:
            faults.append(
                f"partition {number} ends at {stream[number].latest}, but the table would resume at {at}"
            )
    return faults


def check_partitions(
    control: TableControl,
    partitions: Mapping[int, PartitionSegments],
    numbers: Iterable[int],
    *,
    in_stream: Iterable[int] = (),
) -> None:
    """Refuse offsets of partitions that the table does not have, or whose offsets are not numbers.

    Args:
        control: The table.
        partitions: Its partitions.
        numbers: The partitions for which offsets were given.
        in_stream: Partitions of the stream: all segments of one may be gone.

    Raises:
        RejectedError: There is no such partition.
        StreamUnknownError: The stream's offsets are not numbers, as in Pulsar and Kinesis.
    """
    known_partitions = partitions.keys() | set(in_stream)
    unknown = sorted(set(numbers) - known_partitions)
    if unknown:
        raise RejectedError(
            f"{control.table} has no partition {', '.join(map(str, unknown))}",
            expected=f"one of the partitions {', '.join(map(str, sorted(known_partitions)))}",
        )
    for number, segments in sorted(partitions.items()):
        offset = segments.next_offset or segments.newest.start_offset or "0"
        if whole_number(offset) is None:
            raise StreamUnknownError(
                f"partition {number} of {control.table} is at the offset {offset!r}, which is not a number,"
                " so it is unknown which offsets come before it",
                expected="a stream with numbers as offsets, such as Kafka",
                where=control.table,
                remedy="to read the stream to its end, stop its writers, wait until 'pinotctl consumption"
                " status' shows the same offsets again, and pause the table; a resume can start at"
                " lastConsumed, smallest or largest",
            )


def place_offsets(control: TableControl, offsets: Mapping[int, int]) -> None:
    """Write placeholders to a paused table, so that a resume starts at these offsets.

    Args:
        control: The table; it must be paused, with nothing consuming.
        offsets: Offsets by partition.

    Raises:
        RejectedError: There is no such partition, or the stream does not have the offset.
        ConflictError: The table was resumed meanwhile.
    """
    drop_placeholders(control)
    partitions = read_partitions(control.store, control.table)
    stream, _problem = control.stream_or_problem()
    check_partitions(control, partitions, offsets, in_stream=stream.keys())
    for number, offset in offsets.items():
        present = stream.get(number)
        if present and not present.earliest <= offset <= present.latest:
            raise RejectedError(
                f"partition {number} of the stream does not have the offset {offset}",
                expected=f"an offset from {present.earliest} to {present.latest}",
            )
    segments = control.ideal().segments
    added = {}
    for number, offset in offsets.items():
        own = partitions.get(number)
        model = own or next(iter(partitions.values()), None)
        sequence = own.newest.segment.sequence + 1 if own else 0
        record = _placeholder(control, number, sequence, model.newest.record if model else None, offset)
        control.store.create(segment_path(control.table, record.id), record)
        # Which servers these are does not matter, since none of them loads it; but the entry must name some.
        of_newest = segments.get(own.newest.segment.name) if own else None
        servers = of_newest or next(iter(segments.values()), None) or _live_servers(control)
        added[record.id] = tuple(servers)
    add_offline_segments(control.store, control.table, added)


def drop_placeholders(control: TableControl) -> None:
    """Delete the placeholders that :func:`place_offsets` has written in this or any other run.

    Raises:
        WaitTimeoutError: They still exist.
    """
    names = [name for name in control.store.children(segments_path(control.table)) if _NAME.fullmatch(name)]
    records = control.store.get_many([segment_path(control.table, name) for name in names])
    placeholders = [
        name
        for name, versioned in zip(names, records, strict=True)
        if versioned and versioned.record.simple_fields.get(PLACEHOLDER) == "true"
    ]
    if placeholders:
        control.client.segments.delete(control.table, placeholders, accept=[DeleteRisk.START_OFFSET])
        control.client.segments.wait_gone(control.table, placeholders, _GONE_TIMEOUT_S)


def _live_servers(control: TableControl) -> list[str]:
    return [name for name in control.store.live_instances() if name.startswith("Server_")]


def _placeholder(
    control: TableControl, partition: int, sequence: int, model: ZNRecord | None, offset: int
) -> ZNRecord:
    now_ms = control.now_ms()
    # Pinot's own names end with minutes: the seconds tell the two apart without reading all records.
    made = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_ms / 1000))
    name = f"{control.table.raw}__{partition}__{sequence}__{made}"
    inherited = model.simple_fields if model else {}
    return ZNRecord(
        name,
        {
            **{key: inherited[key] for key in _INHERITED if key in inherited},
            "segment.creation.time": str(now_ms),
            "segment.realtime.startOffset": str(offset),
            "segment.realtime.status": "IN_PROGRESS",
            PLACEHOLDER: "true",
        },
    )
