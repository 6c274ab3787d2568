"""Messages of the updates topic: segment update events of one version, and the end of a version.

The topic has the partitions of the table's input topic, and an event is in the partition of the row that it
is about; so (partition, offset) names the row, in whichever segment it is. A message holds many events of one
version, as columns, little-endian::

    "PPU1"  kind u1  version i8  count i4      the head
    kind 0, events:   count times i8 offset, count times u1 (0 insert, 1 delete)
    kind 1, the end:  i8 first offset, i8 end offset, i8 milliseconds since 1970

Versions grow within a partition, and a message may be there twice: who reads it takes each event's first
version and forgets the rest. Versions without an end are completed by the next end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controller_client.errors import SourceError

__all__ = ["Events", "VersionEnd", "decode", "encode_end", "encode_events"]

_HEAD = struct.Struct("<4sBqi")
_END = struct.Struct("<qqq")
_MAGIC = b"PPU1"
_EVENTS, _VERSION_END = 0, 1
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


def decode(message: bytes, *, where: str) -> Events | VersionEnd:
    """Read a message.

    Args:
        message: Its value.
        where: Topic, partition and offset, for the error.

    Raises:
        SourceError: It is not one of these.
    """
    try:
        magic, kind, version, count = _HEAD.unpack_from(message)
        if magic == _MAGIC and kind == _VERSION_END and len(message) == _HEAD.size + _END.size:
            return VersionEnd(version, *_END.unpack_from(message, _HEAD.size))
        if magic == _MAGIC and kind == _EVENTS and len(message) == _HEAD.size + 9 * count:
            offsets = np.frombuffer(message, "<i8", count, _HEAD.size).astype(np.int64)
            deleted = np.frombuffer(message, "u1", count, _HEAD.size + 8 * count)
            return Events(version, offsets, deleted.astype(np.bool_))
    except struct.error:
        pass
    raise SourceError(
        f"{where} is not an update message: {message[:16]!r}, {len(message)} bytes",
        expected="what the key coordinator writes",
        where=where,
        remedy="only the key coordinator may write to the updates topic",
    )
