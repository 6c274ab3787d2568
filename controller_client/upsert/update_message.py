"""Messages of the updates topic: the segment update events and the end of a version.

The topic has the same partitions as the table's input topic, and an event is in the partition of its row, so
(partition, offset) identifies the row, whichever segment it is in. A message contains many events of one
version, as columns, little-endian::

    "PPU" and the format's version as a digit  kind u1  version i8  count i4      the head
    kind 0, events:   count times i8 offset, count times u1 (0 insert, 1 delete)
    kind 1, the end:  i8 first offset, i8 end offset, i8 milliseconds since 1970
    kind 2, a record: i4 generation, count times (i4 partition, i8 end offset, i8 floor); in partition 0 alone

The key coordinator itself continues from the record, which is sent in one transaction with the version's
events. Versions increase within a partition. A message may occur twice: readers use the first version of each
event and ignore the rest. A version without an end is completed by the next end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controller_client.common.formats import Format
from controller_client.common.parsing import whole_number
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
_POSITION = struct.Struct("<iqq")
_NAME = b"PPU"
UPDATES_FORMAT = Format("the update message", version=1)
_MAGIC = _NAME + str(UPDATES_FORMAT.version).encode()
_EVENTS, _VERSION_END, _RECORD = 0, 1, 2
_MAX_EVENTS = 50_000
"""A message with this many events has 450 KB; Kafka's default limit is 1 MB."""


@dataclass(frozen=True)
class Events:
    """Events of one version, for rows of one partition.

    Attributes:
        version: The version.
        offsets: Offsets of the rows' messages in the input partition; int64.
        deleted: Whether the event is a delete; bool, same length as ``offsets``. A new row that loses has
            both events.
    """

    version: int
    offsets: NDArray[np.int64]
    deleted: NDArray[np.bool_]


@dataclass(frozen=True)
class VersionEnd:
    """Marks that all events of this and earlier versions have been sent to this partition.

    Attributes:
        version: The version.
        begin: The first offset of the input partition that belongs to this version.
        end: The offset after its last; equal to ``begin`` if it has none.
        at_ms: When it was completed, in milliseconds since 1970.
    """

    version: int
    begin: int
    end: int
    at_ms: int


@dataclass(frozen=True)
class VersionRecord:
    """The input that the state of keys covers after a version.

    Attributes:
        version: The version.
        generation: The coordinator's generation that made it.
        ends: By input partition, the offset after the last one covered.
        floors: By input partition, the lowest offset that the table's segments could have: keys with earlier
            rows had expired when the version was made.
    """

    version: int
    generation: int
    ends: Mapping[int, int]
    floors: Mapping[int, int]


def encode_events(events: Events) -> Iterator[bytes]:
    """Yield the messages for some events: none for no events, several for many."""
    for first in range(0, len(events.offsets), _MAX_EVENTS):
        part = slice(first, first + _MAX_EVENTS)
        offsets = np.ascontiguousarray(events.offsets[part], dtype="<i8")
        deleted = np.ascontiguousarray(events.deleted[part], dtype="u1")
        yield (
            _HEAD.pack(_MAGIC, _EVENTS, events.version, len(offsets)) + offsets.tobytes() + deleted.tobytes()
        )


def encode_end(end: VersionEnd) -> bytes:
    """Return the message of a version's end."""
    return _HEAD.pack(_MAGIC, _VERSION_END, end.version, 0) + _END.pack(end.begin, end.end, end.at_ms)


def encode_record(record: VersionRecord) -> bytes:
    """Return the message of a version's record."""
    positions = sorted(record.ends.items())
    return (
        _HEAD.pack(_MAGIC, _RECORD, record.version, len(positions))
        + _GENERATION.pack(record.generation)
        + b"".join(_POSITION.pack(each, end, record.floors.get(each, 0)) for each, end in positions)
    )


def decode(message: bytes, *, where: str) -> Events | VersionEnd:
    """Decode a message for servers; arguments and errors: see :func:`decode_any`."""
    content = decode_any(message, where=where)
    if isinstance(content, VersionRecord):
        raise _not_ours(message, where)
    return content


def decode_any(message: bytes, *, where: str) -> Events | VersionEnd | VersionRecord:
    """Decode a message.

    Args:
        message: Its value.
        where: Topic, partition and offset, for the error.

    Raises:
        SourceError: It is not a message of this topic.
        FormatVersionError: It was written by a later release.
    """
    format_version = whole_number(message[len(_NAME) : len(_MAGIC)])
    if message.startswith(_NAME) and format_version is not None:
        UPDATES_FORMAT.check_number(format_version, where)
    try:
        magic, kind, version, count = _HEAD.unpack_from(message)
        if magic == _MAGIC and kind == _VERSION_END and len(message) == _HEAD.size + _END.size:
            return VersionEnd(version, *_END.unpack_from(message, _HEAD.size))
        if magic == _MAGIC and kind == _EVENTS and len(message) == _HEAD.size + 9 * count:
            offsets = np.frombuffer(message, "<i8", count, _HEAD.size).astype(np.int64)
            deleted = np.frombuffer(message, "u1", count, _HEAD.size + 8 * count)
            return Events(version, offsets, deleted.astype(np.bool_))
        begin = _HEAD.size + _GENERATION.size
        if magic == _MAGIC and kind == _RECORD and len(message) == begin + count * _POSITION.size:
            (generation,) = _GENERATION.unpack_from(message, _HEAD.size)
            found = list(_POSITION.iter_unpack(message[begin:]))
            ends = {each: end for each, end, _ in found}
            return VersionRecord(version, generation, ends, {each: floor for each, _, floor in found})
    except struct.error:
        pass
    raise _not_ours(message, where)


def _not_ours(message: bytes, where: str) -> SourceError:
    return SourceError(
        f"{where} is not an update message: {message[:16]!r}, {len(message)} bytes",
        expected="a message of the key coordinator",
        where=where,
        remedy="only the key coordinator may write to the updates topic",
    )
