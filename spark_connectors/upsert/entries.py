"""What the key coordinator knows of keys: one record a key, as columns sorted by the key's hash.

A key is its 128-bit hash: two keys that share one are not to be expected in the life of a table.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller_client.errors import DataError

__all__ = ["Entries", "concatenate"]

_HEAD = struct.Struct("<4si")
_MAGIC = b"PPK1"
_TYPES = ("<u8", "<u8", "<i4", "<i8", "<i8", "<i8", "|b1")
_BYTES_EACH = sum(np.dtype(each).itemsize for each in _TYPES)


@dataclass(frozen=True)
class Entries:
    """Records by key, as columns of one length.

    Attributes:
        high: The upper half of the key's hash; uint64.
        low: The lower half.
        partition: Of the record's message in the input topic; int32.
        offset: Of it; int64.
        order: The record's time in milliseconds, or the user's rank; int64.
        seen: Kafka's time of the key's newest record, in milliseconds since 1970; int64.
        tombstone: Whether the record deletes its key; bool.
    """

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    partition: NDArray[np.int32]
    offset: NDArray[np.int64]
    order: NDArray[np.int64]
    seen: NDArray[np.int64]
    tombstone: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.high)

    @staticmethod
    def empty() -> Entries:
        """No records."""
        return Entries(*(np.empty(0, each) for each in _TYPES))

    @staticmethod
    def unpack(data: bytes) -> Entries:
        """Read what :meth:`pack` wrote; the columns are views into it.

        Raises:
            DataError: It is something else.
        """
        magic, count = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (b"", 0)
        if magic != _MAGIC or len(data) != _HEAD.size + count * _BYTES_EACH:
            raise DataError(
                f"the state of a bucket of keys starts with {data[:8]!r} and has {len(data)} bytes",
                expected="what this version of the key coordinator writes",
                remedy="pinotctl upsert rebuild",
            )
        columns, at = [], _HEAD.size
        for each in _TYPES:
            columns.append(np.frombuffer(data, each, count, at))
            at += count * np.dtype(each).itemsize
        return Entries(*columns)

    def pack(self) -> bytes:
        """Write them as bytes: a head, then column after column."""
        columns = (
            np.ascontiguousarray(column, kind).tobytes()
            for column, kind in zip(self.columns(), _TYPES, strict=True)
        )
        return _HEAD.pack(_MAGIC, len(self)) + b"".join(columns)

    def take(self, index: NDArray[np.bool_] | NDArray[np.intp]) -> Entries:
        """Select records by position or by mask."""
        return Entries(*(column[index] for column in self.columns()))

    def with_seen(self, seen: NDArray[np.int64]) -> Entries:
        """Return a copy with other times."""
        return replace(self, seen=seen)

    def places(self, keys: Entries) -> NDArray[np.intp]:
        """Return where the keys of other entries are here, -1 for a key that is not.

        These entries are sorted by hash and hold a key once.
        """
        at = np.searchsorted(self.high, keys.high)
        inside = np.minimum(at, max(len(self) - 1, 0))
        if not len(self):
            return np.full(len(keys), -1)
        # Keys whose upper halves agree are so rare that a step to the next is nearly never taken.
        while True:
            step = (self.high[inside] == keys.high) & (self.low[inside] < keys.low) & (at < len(self) - 1)
            step &= self.high[np.minimum(inside + 1, len(self) - 1)] == keys.high
            if not step.any():
                break
            at = at + step
            inside = np.minimum(at, len(self) - 1)
        there = (self.high[inside] == keys.high) & (self.low[inside] == keys.low)
        return np.where(there, inside, -1)

    def merged(self, newer: Entries) -> Entries:
        """Return these with others in the place of those of the same keys, sorted by hash."""
        places = newer.places(self)
        kept = concatenate([self.take(places < 0), newer])
        return kept.take(np.lexsort((kept.low, kept.high)))

    def columns(self) -> Sequence[NDArray[Any]]:
        """Return the columns, in the order of the attributes."""
        return [getattr(self, field.name) for field in fields(self)]


def concatenate(parts: Sequence[Entries]) -> Entries:
    """Put entries behind each other."""
    return Entries(
        *(np.concatenate(columns) for columns in zip(*(each.columns() for each in parts), strict=True))
    )
