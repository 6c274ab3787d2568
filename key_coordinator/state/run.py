"""An immutable file of records, sorted by the key's hash.

::

    rows      count times ROW, sorted by (high, low), each key once
    index     (2^bits + 1) times i8: position of the first row for each prefix of the hash
    footer    magic, bits, count, checksum of the index

The rows are memory-mapped: a lookup reads only the pages it touches. Hashes are uniformly distributed, so the
first bits lead to about 64 rows, which are searched by bisection. The format's version is that of the
manifest that lists the file.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from controller_client.errors import DataError
from key_coordinator.entries import ROW, Entries, merge
from key_coordinator.rules import live

__all__ = ["Run", "merge_runs", "write_run"]

_FOOTER = struct.Struct("<4sIqI")
_MAGIC = b"PPR1"
_ROWS_PER_BUCKET = 64
_CHUNK_ROWS = 200_000
_LOOKUPS = 1_000
"""The pages mapped by this many lookups, with their neighbours, can take about 64 MB."""


class Run:
    """An open file of records; one thread looks keys up while another may merge it.

    Args:
        path: The file.

    Raises:
        DataError: It is not such a file, or is incomplete.
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _FOOTER.size))
            footer = file.read(_FOOTER.size)
            magic, bits, count, check = (
                _FOOTER.unpack(footer) if len(footer) == _FOOTER.size else (b"", 0, 0, 0)
            )
            index_bytes = 8 * ((1 << min(bits, 60)) + 1)
            if magic != _MAGIC or size != count * ROW.itemsize + index_bytes + _FOOTER.size:
                raise _damaged(path)
            file.seek(count * ROW.itemsize)
            index = file.read(index_bytes)
            if zlib.crc32(index) != check:
                raise _damaged(path)
            self._map = mmap.mmap(file.fileno(), count * ROW.itemsize, prot=mmap.PROT_READ) if count else None
        if self._map is not None:
            self._map.madvise(mmap.MADV_RANDOM)
        self._rows: NDArray[np.void] = np.frombuffer(self._map or b"", ROW)
        self._index = np.frombuffer(index, "<i8")
        self._shift = np.uint64(64 - bits)
        self._lookups = 0

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], Entries]:
        """Look up keys, preferably in the order of their hashes.

        Returns:
            A mask of the keys that are present, and their records in that order.
        """
        there, matches = np.zeros(len(high), bool), [np.empty(0, ROW)]
        for first in range(0, len(high), _LOOKUPS) if len(self) else ():
            part = slice(first, first + _LOOKUPS)
            there[part], rows = self._find(high[part], low[part])
            matches.append(rows)
            self._lookups += len(high[part])
            if self._lookups >= _LOOKUPS:
                self.release()
        return there, Entries.of_rows(np.concatenate(matches))

    def _find(
        self, high: NDArray[np.uint64], low: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.void]]:
        rows = self._rows
        highs = rows["high"]
        bucket = (high >> self._shift).astype(np.int64)
        first, end = self._index[bucket], self._index[bucket + 1]
        last = end - 1
        for _ in range(int((end - first).max(initial=0)).bit_length()):
            middle = (first + end) >> 1
            # Where the search has ended, the row in the middle does not matter.
            less = (highs[np.minimum(middle, len(rows) - 1)] < high) & (first < end)
            end = np.where(less | (first >= end), end, middle)
            first = np.where(less, middle + 1, first)
        candidates = rows[np.minimum(first, len(rows) - 1)]
        there = (candidates["high"] == high) & (first <= last)
        for key in np.flatnonzero(there & (candidates["low"] != low)):
            there[key] = self._step(int(first[key]), candidates, int(key), high[key], low[key])
        return there, candidates[there]

    def _step(
        self, position: int, candidates: NDArray[np.void], key: int, high: np.uint64, low: np.uint64
    ) -> bool:
        """Search among keys with equal upper halves; almost never needed."""
        while position < len(self) and self._rows[position]["high"] == high:
            if self._rows[position]["low"] == low:
                candidates[key] = self._rows[position]
                return True
            position += 1
        return False

    def slice(self, first_hash: int, end_hash: int) -> Entries:
        """Return the records whose upper hash halves are in a range."""
        return Entries.of_rows(self._rows[self._position(first_hash) : self._position(end_hash)])

    def _position(self, high: int) -> int:
        """Return the position of the first record with this or a greater hash."""
        if high >= 1 << 64:
            return len(self)
        bucket = high >> int(self._shift)
        first, end = int(self._index[bucket]), int(self._index[bucket + 1])
        return first + int(np.searchsorted(self._rows["high"][first:end], np.uint64(high)))

    def release(self) -> None:
        """Unmap the pages that were read; they stay in the system's cache."""
        self._lookups = 0
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)


def write_run(path: Path, parts: Iterator[Entries], most: int) -> int:
    """Write a file of records and sync it to disk.

    Args:
        path: The file; it is overwritten.
        parts: The records, sorted by hash over all parts.
        most: Upper bound on the number of records.

    Returns:
            The number of records.

    Raises:
        OSError: The disk is full, or broken.
    """
    bits = max(1, (most // _ROWS_PER_BUCKET).bit_length())
    counts = np.zeros(1 << bits, np.int64)
    with path.open("wb") as file:
        for part in parts:
            _count_buckets(counts, part, bits)
            file.write(part.rows().tobytes())
        index = np.concatenate([[0], np.cumsum(counts)]).astype("<i8").tobytes()
        file.write(index)
        file.write(_FOOTER.pack(_MAGIC, bits, int(counts.sum()), zlib.crc32(index)))
        _to_disk(file)
    return int(counts.sum())


def merge_runs(path: Path, newer: Run, older: Run, floors: NDArray[np.int64] | None) -> int:
    """Merge two files into one, with only a part of the records in memory at a time.

    Args:
        path: The new file.
        newer: The file whose records win.
        older: The other file.
        floors: See :func:`..rules.live`: records of expired keys are dropped; None if older files may still
            have records of the same keys.

    Returns:
        The number of dropped records.

    Raises:
        OSError: The disk is full, or broken.
    """
    most = len(newer) + len(older)
    dropped = 0

    def parts() -> Iterator[Entries]:
        nonlocal dropped
        steps = max(1, most // _CHUNK_ROWS)
        edges = [(1 << 64) * step // steps for step in range(steps + 1)]
        for first, end in pairwise(edges):
            part = merge(older.slice(first, end), newer.slice(first, end))
            if floors is not None:
                known = live(part, floors)
                dropped += int((~known).sum())
                part = part.take(known)
            older.release()
            newer.release()
            yield part

    write_run(path, parts(), most)
    return dropped


def _count_buckets(counts: NDArray[np.int64], part: Entries, bits: int) -> None:
    buckets = (part.high >> np.uint64(64 - bits)).astype(np.int64)
    if len(buckets):
        first, last = int(buckets[0]), int(buckets[-1])
        counts[first : last + 1] += np.bincount(buckets - first, minlength=last - first + 1)


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _damaged(path: Path) -> DataError:
    return DataError(
        "a file of the key coordinator's state is damaged",
        where=str(path),
        expected="a complete file in the format of this version of the key coordinator",
        remedy="delete the folder and restart the coordinator: it will reread its input",
    )
