"""The state of one bucket of keys: a base that is rarely written, and newer entries batch by batch.

A batch contains few of a bucket's keys. If the bucket were one value, each batch would read and write all of
its keys. Instead, a batch appends its changes, and the base is rewritten once the changes have grown too
large. A worker caches bases and newer entries by their fingerprints, which are stored in the bucket's head.
Cached state that does not belong to this batch (after a retried task, or a change of worker) is not used but
read again. So a batch usually reads only the head; all state passes through a socket to Spark's JVM, byte by
byte.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from key_coordinator.entries import Entries, concatenate
from key_coordinator.rules import Resolution, live, resolve

__all__ = ["BucketState", "EntriesCache", "Log", "Value", "advance"]

_MARK_BYTES = 16
_NOTHING = bytes(_MARK_BYTES)
_SMALLEST_BASE = 512


class Value(Protocol):
    """Spark's state variable with one column of bytes."""

    def get(self) -> tuple[bytes] | None:
        """Return the value; None if it is not set."""
        ...

    def update(self, newValue: tuple[bytes]) -> None:  # noqa: N803  # Spark's name
        """Replace the value."""
        ...


class Log(Protocol):
    """Spark's state variable with a list of such values."""

    def get(self) -> Iterator[tuple[bytes]]:
        """Return the values in the order in which they were appended."""
        ...

    def appendValue(self, newState: tuple[bytes]) -> None:  # noqa: N802, N803  # Spark's names
        """Append a value."""
        ...

    def clear(self) -> None:
        """Remove all values."""
        ...


@dataclass(frozen=True)
class BucketState:
    """The state variables of a bucket.

    Attributes:
        head: The fingerprints of the base and of the newer entries.
        newer: The newer entries: for each batch, the current records of its keys.
        base: The base.
    """

    head: Value
    newer: Log
    base: Value


class EntriesCache:
    """The most recently used bases and newer entries of a worker, by fingerprint.

    Args:
        max_entries: Maximum total number of entries; 37 bytes each.
    """

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._known: OrderedDict[bytes, Entries] = OrderedDict()
        self._entries = 0

    def get(self, fingerprint: bytes) -> Entries | None:
        """Return the entries with a fingerprint; None if they are not cached."""
        found = self._known.get(fingerprint)
        if found is not None:
            self._known.move_to_end(fingerprint)
        return found

    def put(self, fingerprint: bytes, entries: Entries) -> None:
        """Cache entries, evicting the least recently used ones."""
        self.drop(fingerprint)
        self._known[fingerprint] = entries
        self._entries += len(entries)
        while self._entries > self._max_entries and len(self._known) > 1:
            self.drop(next(iter(self._known)))

    def drop(self, fingerprint: bytes) -> None:
        """Remove entries from the cache, if present."""
        gone = self._known.pop(fingerprint, None)
        self._entries -= len(gone) if gone is not None else 0


def advance(
    state: BucketState, cache: EntriesCache, records: Entries, floors: Sequence[int]
) -> tuple[Resolution, int]:
    """Apply one batch of records to a bucket.

    The same state and the same records, in any order, result in the same new state and the same resolution: a
    repeated batch has the same effect.

    Args:
        state: The bucket's state.
        cache: The worker's cache.
        records: The records of the batch; at least one.
        floors: As for :func:`key_coordinator.rules.live`; the same each time the batch runs.

    Returns:
        The resolution of the batch, and by how many keys the bucket has grown. A forgotten key counts until
        the base is rewritten.
    """
    found = state.head.get()
    head = found[0] if found is not None else _NOTHING * 2
    base_mark, newer_mark = head[:_MARK_BYTES], head[_MARK_BYTES:]
    base = _cached(cache, base_mark, lambda: _read_base(state.base))
    newer = _cached(cache, newer_mark, lambda: _read_newer(state.newer))
    in_newer, in_base = newer.positions(records), base.positions(records)
    in_base[in_newer >= 0] = -1
    previous = concatenate(
        [newer.take(np.unique(in_newer[in_newer >= 0])), base.take(np.unique(in_base[in_base >= 0]))]
    )
    result = resolve(previous.take(live(previous, floors)), records)
    growth = len(result.entries) - len(previous)
    newer = newer.merged(result.entries)
    cache.drop(newer_mark)
    # With at most n newer entries, a base of b entries and r records per batch, a batch merges n / 2 entries
    # on average and rewrites the base every n / r batches. The cost is least if n² = 2 b r. The spread keeps
    # buckets from rewriting their bases all at once.
    spread = 0.5 + base_mark[0] / 255
    if len(newer) > _SMALLEST_BASE and len(newer) ** 2 > 2 * len(base) * len(records) * spread:
        whole = base.merged(newer)
        kept = whole.take(live(whole, floors))
        growth -= len(whole) - len(kept)
        packed = kept.pack()
        cache.drop(base_mark)
        base_mark, newer_mark = _fingerprint(packed), _NOTHING
        cache.put(base_mark, kept)
        state.base.update((packed,))
        state.newer.clear()
    else:
        packed = result.entries.pack()
        newer_mark = _fingerprint(newer_mark + packed)
        cache.put(newer_mark, newer)
        state.newer.appendValue((packed,))
    state.head.update((base_mark + newer_mark,))
    return result, growth


def _fingerprint(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_MARK_BYTES).digest()


def _cached(cache: EntriesCache, mark: bytes, read: Callable[[], Entries]) -> Entries:
    if mark == _NOTHING:
        return Entries.empty()
    entries = cache.get(mark)
    if entries is None:
        entries = read()
        cache.put(mark, entries)
    return entries


def _read_base(value: Value) -> Entries:
    found = value.get()
    return Entries.empty() if found is None else Entries.unpack(found[0])


def _read_newer(log: Log) -> Entries:
    newer = Entries.empty()
    for (packed,) in log.get():
        newer = newer.merged(Entries.unpack(packed))
    return newer
