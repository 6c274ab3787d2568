"""Which record of each key stays: pure arrays, no loop over keys.

The records of a key are in a total order: by time or rank, then offset, then partition. The greatest is the
key's; a tombstone that is the greatest leaves the key without a row. What comes out does not depend on how
records are split into batches or ordered within one, but for the versions.

A key is known for as long as its record's row can be in the table: until the segments of its partition begin
behind it. Until then its row has to be deleted when another one replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controller_client.coordinator.entries import Entries, by_hash, concatenate

__all__ = ["Resolution", "live", "resolve"]


@dataclass(frozen=True)
class Resolution:
    """What a batch does.

    Attributes:
        entries: The present record of each key that the batch has, sorted by hash.
        inserted: Records of the batch that have rows, the winner or not.
        deleted: Records, of the batch or before it, whose rows are not or no longer their key's.
    """

    entries: Entries
    inserted: Entries
    deleted: Entries


def resolve(known: Entries, records: Entries) -> Resolution:
    """Resolve a batch.

    Args:
        known: The record of each key of the batch that had one; other keys do no harm.
        records: Of the batch, in any order. One that is known, or is there twice, counts once.
    """
    both = concatenate([known, records])
    is_new = np.repeat([False, True], [len(known), len(records)])
    order = by_hash(both.high, both.low)
    both, is_new = both.take(order), is_new[order]
    same_key = _equals_previous(both.high) & _equals_previous(both.low)
    if same_key.any():
        # Only keys with several records need an order within them, and only those are sorted again.
        several = np.flatnonzero(same_key | np.append(same_key[1:], False))
        part, part_new = both.take(several), is_new[several]
        group = np.cumsum(~same_key[several])
        within = np.lexsort((part_new, part.partition, part.offset, part.order, group))
        order = np.arange(len(both))
        order[several] = several[within]
        both, is_new = both.take(order), is_new[order]
        once = ~(same_key & _equals_previous(both.partition) & _equals_previous(both.offset))
        # A key's first record is never a repetition, so the groups are as many as before.
        both, is_new, same_key = both.take(once), is_new[once], same_key[once]
    wins = np.append(~same_key[1:], True) if len(both) else np.empty(0, bool)
    row = ~both.tombstone
    return Resolution(both.take(wins), both.take(row & is_new), both.take(row & ~wins))


def live(entries: Entries, floors: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """List which keys are still known.

    Args:
        entries: Records of keys.
        floors: By partition, the first offset that a segment of the table can have; partitions without one
            keep all.
    """
    known = np.asarray(floors, np.int64)
    if not len(known):
        return np.ones(len(entries), bool)
    inside = entries.partition < len(known)
    return ~inside | (entries.offset >= known[np.minimum(entries.partition, len(known) - 1)])


def _equals_previous(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    equal = np.zeros(len(column), bool)
    equal[1:] = column[1:] == column[:-1]
    return equal
