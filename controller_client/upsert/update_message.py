"""Messages of the updates topic: segment update events of one version, and the end of a version.

The topic has the partitions of the table's input topic, and an event is in the partition of the row that it
is about; so (partition, offset) names the row, in whichever segment it is. A message holds many events of one
version, as columns, little-endian::

    "PPU" and the format's version as a digit  kind u1  version i8  count i4      the head
    kind 0, events:   count times i8 offset, count times u1 (0 insert, 1 delete)
    kind 1, the end:  i8 first offset, i8 end offset, i8 milliseconds since 1970
    kind 2, a record: i4 generation, count times (i4 partition, i8 end offset, i8 floor); in partition 0 alone

A record is what the key coordinator itself goes on from: it is in one transaction with the version's events.
Versions grow within a partition, and a message may be there twice: who reads it takes each event's first
version and forgets the rest. Versions without an end are completed by the next end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controller_client.common.formats import Format
from controller_client.errors import SourceError

__all__ = [
    "UPDATES_FORMAT",
    "Events",
    "VersionEnd",
    "VersionRecord",
    "decode",
    "decode_any",
    "encode_end",
    "encode_events",
    "encode_record",
]

_HEAD = struct.Struct("<4sBqi")
_END = struct.Struct("<qqq")
_GENERATION = struct.Struct("<i")
_PLACE = struct.Struct("<iqq")
_NAME = b"PPU"
UPDATES_FORMAT = Format("the update message", version=1)
_MAGIC = _NAME + str(UPDATES_FORMAT.version).encode()
_EVENTS, _VERSION_END, _RECORD = 0, 1, 2
_MOST_EVENTS = 50_000
"""A message of this many has 450 KB; Kafka's default limit is 1 MB."""


@dataclass(frozen=True)
class Events:
    """Events of one version about rows of one partition.

    Attributes:
        version: Theirs.
        offsets: Of the rows' messages in the input partition; int64.
        deleted: Whether the event is a delete; bool, as long as ``offsets``. A row that came and lost has
            both.
    """

    version: int
    offsets: NDArray[np.int64]
    deleted: NDArray[np.bool_]


@dataclass(frozen=True)
class VersionEnd:
    """All events of this version, and of those before it, are sent to this partition.

    Attributes:
        version: The version.
        begin: The first offset of the input partition that belongs to this version.
        end: The offset after its last; equal to ``begin`` where it has none.
        at_ms: When it was complete, in milliseconds since 1970.
    """

    version: int
    begin: int
    end: int
    at_ms: int


@dataclass(frozen=True)
class VersionRecord:
    """Of which input the state of keys is after a version.

    Attributes:
        version: The version.
        generation: The coordinator's generation that made it.
        ends: By partition of the input, the offset after its last one.
        floors: By partition of the input, the first offset that the table's segments could have: a key whose
            row is before that was not known when the version was made.
    """

    version: int
    generation: int
    ends: Mapping[int, int]
    floors: Mapping[int, int]


def encode_events(events: Events) -> Iterator[bytes]:
    """Return the messages that hold some events: one, or more of them where they are many; none for none."""
    for first in range(0, len(events.offsets), _MOST_EVENTS):
        part = slice(first, first + _MOST_EVENTS)
        offsets = np.ascontiguousarray(events.offsets[part], dtype="<i8")
        deleted = np.ascontiguousarray(events.deleted[part], dtype="u1")
        yield (
            _HEAD.pack(_MAGIC, _EVENTS, events.version, len(offsets)) + offsets.tobytes() + deleted.tobytes()
        )


def encode_end(end: VersionEnd) -> bytes:
    """Return the message."""
    return _HEAD.pack(_MAGIC, _VERSION_END, end.version, 0) + _END.pack(end.begin, end.end, end.at_ms)


def encode_record(record: VersionRecord) -> bytes:
    """Return the message."""
    places = sorted(record.ends.items())
    return (
        _HEAD.pack(_MAGIC, _RECORD, record.version, len(places))
        + _GENERATION.pack(record.generation)
        + b"".join(_PLACE.pack(each, end, record.floors.get(each, 0)) for each, end in places)
    )


def decode(message: bytes, *, where: str) -> Events | VersionEnd:
    """Read a message that is for servers; arguments and errors as of :func:`decode_any`."""
    content = decode_any(message, where=where)
    if isinstance(content, VersionRecord):
        raise _strange(message, where)
    return content


def decode_any(message: bytes, *, where: str) -> Events | VersionEnd | VersionRecord:
    """Read a message.

    Args:
        message: Its value.
        where: Topic, partition and offset, for the error.

    Raises:
        SourceError: It is not one of these.
        FormatVersionError: It is one of a later release.
    """
    digit = message[len(_NAME) : len(_MAGIC)]
    if message.startswith(_NAME) and digit.isdigit():
        UPDATES_FORMAT.check_number(int(digit), where)
    try:
        magic, kind, version, count = _HEAD.unpack_from(message)
        if magic == _MAGIC and kind == _VERSION_END and len(message) == _HEAD.size + _END.size:
            return VersionEnd(version, *_END.unpack_from(message, _HEAD.size))
        if magic == _MAGIC and kind == _EVENTS and len(message) == _HEAD.size + 9 * count:
            offsets = np.frombuffer(message, "<i8", count, _HEAD.size).astype(np.int64)
            deleted = np.frombuffer(message, "u1", count, _HEAD.size + 8 * count)
            return Events(version, offsets, deleted.astype(np.bool_))
        places = _HEAD.size + _GENERATION.size
        if magic == _MAGIC and kind == _RECORD and len(message) == places + count * _PLACE.size:
            (generation,) = _GENERATION.unpack_from(message, _HEAD.size)
            found = list(_PLACE.iter_unpack(message[places:]))
            ends = {each: end for each, end, _ in found}
            return VersionRecord(version, generation, ends, {each: floor for each, _, floor in found})
    except struct.error:
        pass
    raise _strange(message, where)


def _strange(message: bytes, where: str) -> SourceError:
    return SourceError(
        f"{where} is not an update message: {message[:16]!r}, {len(message)} bytes",
        expected="what the key coordinator writes",
        where=where,
        remedy="only the key coordinator may write to the updates topic",
    )
