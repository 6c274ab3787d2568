"""What a batch does, as the events that servers get."""

from __future__ import annotations

import numpy as np

from controller_client.coordinator.rules import Resolution
from controller_client.upsert.update_message import Events

__all__ = ["events_of"]


def events_of(resolution: Resolution, version: int) -> dict[int, Events]:
    """Return the events of a batch by partition: inserts, then deletes, each by offset."""
    inserted, deleted = resolution.inserted, resolution.deleted
    partition = np.concatenate([inserted.partition, deleted.partition])
    offset = np.concatenate([inserted.offset, deleted.offset])
    is_delete = np.repeat([False, True], [len(inserted), len(deleted)])
    order = np.lexsort((offset, is_delete, partition))
    partition, offset, is_delete = partition[order], offset[order], is_delete[order]
    numbers, firsts = np.unique(partition, return_index=True)
    ends = [*firsts[1:], len(partition)]
    return {
        int(number): Events(version, offset[first:end], is_delete[first:end])
        for number, first, end in zip(numbers, firsts, ends, strict=True)
    }
