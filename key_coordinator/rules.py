"""Decides which record of each key wins: pure array operations, no loop over keys.

The records of a key have a total order: by time or rank, then offset, then partition. The greatest record
wins; if it is a tombstone, the key has no row. Except for the version numbers, the result does not depend on
how records are split into batches or ordered within a batch.

A key is kept for as long as its record's row can be in the table: until the first segment of its partition
begins after that row. Until then, the row has to be deleted when another one replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from key_coordinator.entries import Entries, by_hash, concatenate

__all__ = ["Resolution", "live", "resolve"]


@dataclass(frozen=True)
class Resolution:
    """The effects of a batch.

    Attributes:
        entries: The current record of each key in the batch, sorted by hash.
        inserted: Records of the batch that have rows, whether they win or not.
        deleted: Records, of the batch or earlier, whose rows are not, or no longer, the current ones of their
            keys.
    """

    entries: Entries
    inserted: Entries
    deleted: Entries


def resolve(previous: Entries, records: Entries) -> Resolution:
    """Resolve a batch.

    Args:
        previous: The previous records of the batch's keys; other keys are ignored.
        records: Records of the batch, in any order. Duplicates, also of previous records, count once.
    """
    both = concatenate([previous, records])
    is_new = np.repeat([False, True], [len(previous), len(records)])
    order = by_hash(both.high, both.low)
    both, is_new = both.take(order), is_new[order]
    same_key = _equals_previous(both.high) & _equals_previous(both.low)
    if same_key.any():
        # Only keys with several records need an inner order, so only those are sorted again.
        several = np.flatnonzero(same_key | np.append(same_key[1:], False))
        part, part_new = both.take(several), is_new[several]
        group = np.cumsum(~same_key[several])
        within = np.lexsort((part_new, part.partition, part.offset, part.order, group))
        order = np.arange(len(both))
        order[several] = several[within]
        both, is_new = both.take(order), is_new[order]
        once = ~(same_key & _equals_previous(both.partition) & _equals_previous(both.offset))
        # A key's first record is never a duplicate, so the number of groups does not change.
        both, is_new, same_key = both.take(once), is_new[once], same_key[once]
    wins = np.append(~same_key[1:], True) if len(both) else np.empty(0, bool)
    row = ~both.tombstone
    return Resolution(both.take(wins), both.take(row & is_new), both.take(row & ~wins))


def live(entries: Entries, floors: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which keys are still to be kept.

    Args:
        entries: Records of keys.
        floors: By partition, the lowest offset that a segment of the table can have; partitions without a
            floor keep all.
    """
    lowest = np.asarray(floors, np.int64)
    if not len(lowest):
        return np.ones(len(entries), bool)
    inside = entries.partition < len(lowest)
    return ~inside | (entries.offset >= lowest[np.minimum(entries.partition, len(lowest) - 1)])


def _equals_previous(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    equal = np.zeros(len(column), bool)
    equal[1:] = column[1:] == column[:-1]
    return equal
