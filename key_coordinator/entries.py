"""The key coordinator's records: one per key, as columns sorted by the key's hash.

A key is identified by its 128-bit hash; a collision is not expected in the lifetime of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller_client.common.formats import Format
from controller_client.common.parsing import whole_number
from controller_client.errors import DataError

__all__ = ["BUCKET_FORMAT", "ROW", "Entries", "by_hash", "concatenate", "merge"]

ROW = np.dtype(
    [
        ("high", "<u8"),
        ("low", "<u8"),
        ("offset", "<i8"),
        ("order", "<i8"),
        ("partition", "<i4"),
        ("tombstone", "<i4"),
    ]
)
"""A record in a file: 40 bytes, little-endian."""

_NAME = b"PPK"
BUCKET_FORMAT = Format("the state of a bucket of keys", version=2, oldest=2)
_MAGIC = _NAME + str(BUCKET_FORMAT.version).encode()
"""Followed by rows of the type :data:`ROW`."""


@dataclass(frozen=True)
class Entries:
    """Records by key, as columns of one length.

    Attributes:
        high: The upper half of the key's hash; uint64.
        low: The lower half.
        partition: Partition of the record's message in the input topic; int32.
        offset: Offset of that message; int64.
        order: The record's time in milliseconds, or the user's rank; int64.
        tombstone: Whether the record deletes its key; bool.
    """

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    partition: NDArray[np.int32]
    offset: NDArray[np.int64]
    order: NDArray[np.int64]
    tombstone: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.high)

    @staticmethod
    def empty() -> Entries:
        """Return an empty set of records."""
        return Entries.of_rows(np.empty(0, ROW))

    @staticmethod
    def of_rows(rows: NDArray[np.void]) -> Entries:
        """Return columns of rows of the type :data:`ROW`."""
        high, low, partition, offset, order = (
            np.ascontiguousarray(rows[name]) for name in ("high", "low", "partition", "offset", "order")
        )
        return Entries(high, low, partition, offset, order, rows["tombstone"] != 0)

    @staticmethod
    def unpack(data: bytes) -> Entries:
        """Read what :meth:`pack` wrote.

        Raises:
            DataError: The data have another format.
            FormatVersionError: Another release wrote it.
        """
        version = whole_number(data[len(_NAME) : len(_MAGIC)])
        if data.startswith(_NAME) and version is not None:
            BUCKET_FORMAT.check_number(version, "the checkpoint of the query")
        if data[: len(_MAGIC)] != _MAGIC or (len(data) - len(_MAGIC)) % ROW.itemsize:
            raise DataError(
                f"the state of a bucket of keys starts with {data[:8]!r} and has {len(data)} bytes",
                expected="a state in the format of this version of the key coordinator",
                remedy="pinotctl upsert rebuild",
            )
        return Entries.of_rows(np.frombuffer(data, ROW, offset=len(_MAGIC)))

    def pack(self) -> bytes:
        """Return the records as bytes."""
        return _MAGIC + self.rows().tobytes()

    def rows(self) -> NDArray[np.void]:
        """Return the records as rows of the type :data:`ROW`."""
        rows = np.empty(len(self), ROW)
        for field in fields(self):
            rows[field.name] = getattr(self, field.name)
        return rows

    def take(self, index: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Entries:
        """Select records by position or mask."""
        return Entries(*(column[index] for column in self.columns()))

    def positions(self, keys: Entries) -> NDArray[np.intp]:
        """Return the positions here of the keys of other entries; -1 for a missing key.

        These entries must be sorted by hash and contain each key once.
        """
        if not len(self):
            return np.full(len(keys), -1)
        at = np.searchsorted(self.high, keys.high)
        inside = np.minimum(at, len(self) - 1)
        # Keys with equal upper halves are so rare that this loop almost never advances.
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
        """Return these entries, with those of ``newer`` replacing those of the same keys, sorted by hash."""
        return merge(self, newer)

    def columns(self) -> Sequence[NDArray[Any]]:
        """Return the columns, in the order of the attributes."""
        return [getattr(self, field.name) for field in fields(self)]


def concatenate(parts: Sequence[Entries]) -> Entries:
    """Concatenate entries."""
    return Entries(
        *(np.concatenate(columns) for columns in zip(*(each.columns() for each in parts), strict=True))
    )


def merge(older: Entries, newer: Entries) -> Entries:
    """Merge two runs sorted by hash, each key once in each; for a key in both, the newer record wins."""
    both = concatenate([older, newer])
    order = by_hash(both.high, both.low)
    high, low = both.high[order], both.low[order]
    is_last = np.ones(len(both), bool)
    is_last[:-1] = (high[:-1] != high[1:]) | (low[:-1] != low[1:])
    return both.take(order[is_last])


def by_hash(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the stable order by both halves of a hash."""
    order = np.argsort(high, kind="stable")
    one, other = high[order], low[order]
    if ((one[:-1] == one[1:]) & (other[:-1] > other[1:])).any():
        return np.lexsort((low, high))
    return order
