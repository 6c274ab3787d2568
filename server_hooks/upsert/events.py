"""Events of several versions as columns, and their effect on a row."""

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
        offsets: Offsets of the rows' messages.
        versions: Version of each event.
        deleted: Whether each event is a delete.
    """

    offsets: NDArray[np.int64]
    versions: NDArray[np.int64]
    deleted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def of(cls, events: Iterable[Events]) -> Self:
        """Combine the events of messages."""
        parts = list(events)
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.offsets for part in parts)]),
            np.repeat(
                np.array([part.version for part in parts], np.int64), [len(part.offsets) for part in parts]
            ),
            np.concatenate([np.empty(0, np.bool_), *(part.deleted for part in parts)]),
        )

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> EventColumns:
        """Return some of the events, by a mask or by their indexes."""
        return EventColumns(self.offsets[chosen], self.versions[chosen], self.deleted[chosen])

    def plus(self, other: EventColumns) -> EventColumns:
        """Return these events followed by others."""
        return EventColumns(
            np.concatenate([self.offsets, other.offsets]),
            np.concatenate([self.versions, other.versions]),
            np.concatenate([self.deleted, other.deleted]),
        )


def earlier(values: NDArray[np.int64], versions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the column's values after versions were applied: for each row the earlier of both, if any.

    Versions grow, so the earlier one is the smaller one. Therefore events can be applied in any order and any
    number of times.
    """
    return np.where(values == NIL, versions, np.where(versions == NIL, values, np.minimum(values, versions)))
