"""Which record of each key stays: pure arrays, no loop over keys.

The records of a key are in a total order: by time or rank, then offset, then partition. The greatest is the
key's; a tombstone that is the greatest leaves the key without a row. What comes out does not depend on how
records are split into batches or ordered within one, but for the versions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_connectors.upsert.entries import Entries, concatenate

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
    order = np.lexsort((is_new, both.partition, both.offset, both.order, both.low, both.high))
    both, is_new = both.take(order), is_new[order]
    same_key = _equals_previous(both.high) & _equals_previous(both.low)
    once = ~(same_key & _equals_previous(both.partition) & _equals_previous(both.offset))
    first = np.flatnonzero(~same_key)
    seen = np.maximum.reduceat(both.seen, first) if len(first) else both.seen
    both, is_new, same_key = both.take(once), is_new[once], same_key[once]
    # A key's first record is never a repetition, so the groups are as many as before.
    wins = np.append(~same_key[1:], True) if len(both) else np.empty(0, bool)
    row = ~both.tombstone
    return Resolution(both.take(wins).with_seen(seen), both.take(row & is_new), both.take(row & ~wins))


def live(entries: Entries, now_ms: int, retention_ms: int) -> NDArray[np.bool_]:
    """List which keys are still known: had a record in the retention time before ``now_ms``."""
    return entries.seen >= now_ms - retention_ms


def _equals_previous(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    equal = np.zeros(len(column), bool)
    equal[1:] = column[1:] == column[:-1]
    return equal
