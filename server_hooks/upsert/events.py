"""Events of several versions as columns, and what they do to a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events

__all__ = ["EventColumns", "earlier"]


@dataclass(frozen=True)
class EventColumns:
    """Events about rows of one partition.

    Attributes:
        offsets: Of the rows' messages.
        versions: Each event's.
        deleted: Whether it is a delete.
    """

    offsets: NDArray[np.int64]
    versions: NDArray[np.int64]
    deleted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def of(cls, events: Iterable[Events]) -> Self:
        """Put the events of messages together."""
        parts = list(events)
        return cls(
            np.concatenate([np.empty(0, np.int64), *(each.offsets for each in parts)]),
            np.repeat(
                np.array([each.version for each in parts], np.int64), [len(each.offsets) for each in parts]
            ),
            np.concatenate([np.empty(0, np.bool_), *(each.deleted for each in parts)]),
        )

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> EventColumns:
        """Return some of them, by a mask or by their numbers."""
        return EventColumns(self.offsets[chosen], self.versions[chosen], self.deleted[chosen])

    def plus(self, other: EventColumns) -> EventColumns:
        """Return these and others."""
        return EventColumns(
            np.concatenate([self.offsets, other.offsets]),
            np.concatenate([self.versions, other.versions]),
            np.concatenate([self.deleted, other.deleted]),
        )


def earlier(values: NDArray[np.int64], versions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what versions make of a column's values: the first of both, where there is one.

    Versions grow, so the first is the least; and so it does not matter in which order, and how often, events
    are applied.
    """
    return np.where(values == NIL, versions, np.where(versions == NIL, values, np.minimum(values, versions)))
