"""The state of one bucket of keys: a large part that is seldom written, and a small one on top of it.

A batch has few of a bucket's keys. If the bucket were one value, each batch would read and write all of its
keys; so a batch reads and writes the newer entries only, and the base is written anew when those have grown
to more than they are worth. A worker keeps the bases that it has read last, by their fingerprints, which
stand in the newer part: a base that is not the one of the state of this batch (a retried task, another worker
before) is not taken.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Protocol

import numpy as np

from spark_connectors.upsert.entries import Entries, concatenate
from spark_connectors.upsert.resolution import Resolution, live, resolve

__all__ = ["BaseCache", "Value", "advance"]

_FINGERPRINT_BYTES = 16
_NO_BASE = bytes(_FINGERPRINT_BYTES)
_SMALLEST_BASE = 512


class Value(Protocol):
    """Spark's state variable of one column of bytes; each call goes through a socket to the JVM."""

    def get(self) -> tuple[bytes] | None:
        """Return the value, if there is one."""
        ...

    def update(self, newValue: tuple[bytes]) -> None:  # noqa: N803  # Spark's name
        """Replace the value."""
        ...


class BaseCache:
    """Bases that a worker has seen last, by fingerprint.

    Args:
        most_entries: How many entries it holds at most, of all bases together; 45 bytes each.
    """

    def __init__(self, most_entries: int) -> None:
        self._most_entries = most_entries
        self._bases: OrderedDict[bytes, Entries] = OrderedDict()
        self._entries = 0

    def get(self, fingerprint: bytes) -> Entries | None:
        """Return a base, if it is there."""
        found = self._bases.get(fingerprint)
        if found is not None:
            self._bases.move_to_end(fingerprint)
        return found

    def put(self, fingerprint: bytes, base: Entries) -> None:
        """Remember a base; those unused for longest go."""
        self.drop(fingerprint)
        self._bases[fingerprint] = base
        self._entries += len(base)
        while self._entries > self._most_entries and len(self._bases) > 1:
            self.drop(next(iter(self._bases)))

    def drop(self, fingerprint: bytes) -> None:
        """Forget a base, if it is there."""
        gone = self._bases.pop(fingerprint, None)
        self._entries -= len(gone) if gone is not None else 0


def advance(
    newer_value: Value, base_value: Value, cache: BaseCache, records: Entries, retention_ms: int
) -> tuple[Resolution, int]:
    """Bring a bucket over one batch of its records.

    The same state and the same records give the same result and the same state, in whatever order the records
    come: a batch that is run again does what it did.

    Args:
        newer_value: State: fingerprint of the base, then the newer entries.
        base_value: State: the base.
        cache: The worker's.
        records: Of the batch; at least one.
        retention_ms: A key without a record for so long before the batch's newest is not known any more.

    Returns:
        What the batch does, and by how many keys the bucket has grown; an expired key counts until the base
        is written.
    """
    now_ms = int(records.seen.max())
    found = newer_value.get()
    newer, fingerprint, base = Entries.empty(), _NO_BASE, Entries.empty()
    if found is not None:
        fingerprint = found[0][:_FINGERPRINT_BYTES]
        newer = Entries.unpack(found[0][_FINGERPRINT_BYTES:])
    if fingerprint != _NO_BASE:
        base = _base(base_value, cache, fingerprint)
    in_newer, in_base = newer.places(records), base.places(records)
    in_base[in_newer >= 0] = -1
    known = concatenate(
        [newer.take(np.unique(in_newer[in_newer >= 0])), base.take(np.unique(in_base[in_base >= 0]))]
    )
    result = resolve(known.take(live(known, now_ms, retention_ms)), records)
    growth = len(result.entries) - len(known)
    newer = newer.merged(result.entries)
    # With n newer entries at the most, a base of b and r records a batch, a batch writes n / 2 entries and,
    # each n / r batches, the base: least where n² = 2 b r. Spread, so that not all buckets do it at once.
    spread = 0.5 + fingerprint[0] / 255
    if len(newer) > _SMALLEST_BASE and len(newer) ** 2 > 2 * len(base) * len(records) * spread:
        whole = base.merged(newer)
        kept = whole.take(live(whole, now_ms, retention_ms))
        growth -= len(whole) - len(kept)
        packed = kept.pack()
        cache.drop(fingerprint)
        fingerprint = hashlib.blake2b(packed, digest_size=_FINGERPRINT_BYTES).digest()
        cache.put(fingerprint, kept)
        base_value.update((packed,))
        newer = Entries.empty()
    newer_value.update((fingerprint + newer.pack(),))
    return result, growth


def _base(value: Value, cache: BaseCache, fingerprint: bytes) -> Entries:
    base = cache.get(fingerprint)
    if base is None:
        found = value.get()
        base = Entries.empty() if found is None else Entries.unpack(found[0])
        cache.put(fingerprint, base)
    return base
