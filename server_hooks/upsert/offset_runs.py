"""Maps offsets of the input topic to the rows of a segment, stored as runs of offsets without gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller_client.errors import DataError

__all__ = ["OffsetRuns"]

_Longs = NDArray[np.int64]


class OffsetRuns:
    """The offsets of a segment's rows, ascending; a run costs 16 bytes, however many rows it has.

    Gaps come from messages that Pinot dropped, and from the markers of transactions.
    """

    def __init__(self) -> None:
        self._first: _Longs = np.empty(0, np.int64)
        """Offset of each run's first row."""
        self._rows: _Longs = np.empty(0, np.int64)
        """Number of that row in the segment."""
        self._ends: _Longs = np.empty(0, np.int64)
        """Number of the row after each run's last one."""
        self.count = 0
        self.last = -1
        """Offset of the last row; -1 if there are no rows."""

    def extend(self, offsets: _Longs) -> None:
        """Add the offsets of the next rows.

        Raises:
            DataError: They do not ascend: the segment is sorted differently, or not of an upsert table.
        """
        if not len(offsets):
            return
        steps = np.diff(offsets, prepend=self.last if self.count else offsets[0] - 2)
        if (steps <= 0).any() or offsets[0] < 0:
            raise DataError(
                f"the rows' offsets do not ascend: {offsets[:3].tolist()}... after {self.last}",
                expected="a segment whose rows have the offsets of their messages, in ascending order",
                remedy="check that a server with the hook upsert built this segment, for an upsert table",
            )
        starts = np.flatnonzero(steps != 1)
        self._first = np.concatenate([self._first, offsets[starts]])
        self._rows = np.concatenate([self._rows, starts + self.count])
        self.count += len(offsets)
        self._ends = np.append(self._rows[1:], self.count)
        self.last = int(offsets[-1])

    @property
    def first(self) -> int:
        """Offset of the first row; -1 if there are no rows."""
        return int(self._first[0]) if self.count else -1

    def rows(self, offsets: _Longs) -> _Longs:
        """Return the row of each offset, -1 for offsets without a row."""
        if not self.count:
            return np.full(len(offsets), -1, np.int64)
        runs = np.searchsorted(self._first, offsets, side="right") - 1
        clipped = np.maximum(runs, 0)
        found = self._rows[clipped] + offsets - self._first[clipped]
        return np.where((runs >= 0) & (found < self._ends[clipped]), found, -1)

    def offsets(self) -> _Longs:
        """Return the offsets of all rows."""
        return np.repeat(self._first - self._rows, self._ends - self._rows) + np.arange(
            self.count, dtype=np.int64
        )
