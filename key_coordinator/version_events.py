"""Turns the effects of a batch into events for servers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller_client.upsert.update_message import Events
from key_coordinator.entries import concatenate
from key_coordinator.rules import Resolution

__all__ = ["events_of"]


def events_of(resolutions: Sequence[Resolution], version: int) -> dict[int, Events]:
    """Return the events of batches by partition: first inserts, then deletes, each in order of offset."""
    inserted = concatenate([each.inserted for each in resolutions])
    deleted = concatenate([each.deleted for each in resolutions])
    partition = np.concatenate([inserted.partition, deleted.partition])
    offset = np.concatenate([inserted.offset, deleted.offset])
    is_delete = np.repeat([False, True], [len(inserted), len(deleted)])
    order = np.lexsort((offset, is_delete, partition))
    partition, offset, is_delete = partition[order], offset[order], is_delete[order]
    numbers, firsts = np.unique(partition, return_index=True)
    ends = [*firsts, len(partition)][1:]
    return {
        int(number): Events(version, offset[first:end], is_delete[first:end])
        for number, first, end in zip(numbers, firsts, ends, strict=True)
    }
