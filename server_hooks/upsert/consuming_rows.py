"""The columns of a consuming segment, in Pinot's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jpype
import numpy as np
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL, OFFSET
from server_hooks.upsert.events import EventColumns
from server_hooks.upsert.first_versions import VersionsOfRows, write_first
from server_hooks.upsert.offset_runs import OffsetRuns
from server_hooks.upsert.served_versions import SegmentVersions

__all__ = ["ConsumingRows"]

_PAGE_ROWS = 200_000


class ConsumingRows:
    """A consuming segment's rows; see :class:`~server_hooks.upsert.partition.ConsumingPart`.

    What was written is kept here too: the segment that Pinot builds of this one lacks what was written while
    it was built, and the memory of a segment that is gone must not be touched.

    Args:
        table: Pinot's data manager of the table.
        manager: That of the segment; the caller has acquired it.
        name: The segment's.
        sequence: Its number in the partition.
        start: The offset that it begins with.
        versions: Of its rows, for queries; writes them into Pinot's memory.
        release: Given table and manager, gives the manager back. In another thread, as the last one to do so
            destroys a segment that was dropped, and waits for its consumer.
    """

    def __init__(
        self,
        table: Any,
        manager: Any,
        name: str,
        sequence: int,
        start: int,
        versions: SegmentVersions,
        release: Callable[[Any, Any], None],
    ) -> None:
        self.name = name
        self.sequence = sequence
        self.position = start
        self._start = start
        self._table = table
        self._release = release
        self._manager = manager
        self._runs = OffsetRuns()
        self._capacity = np.full((2, 0), NIL, np.int64)
        segment = manager.getSegment()
        self._segment = segment
        self._versions = versions
        self._offsets = segment.getDataSource(OFFSET).getForwardIndex()

    @property
    def first(self) -> int:
        """The offset that the segment begins with."""
        return self._start

    @property
    def last(self) -> int:
        """Offset of the last row; -1 without rows."""
        return self._runs.last

    def refresh(self) -> None:
        """Look for the rows that were indexed since."""
        # In this order: the position is moved after its row was indexed.
        position = int(str(self._manager.getCurrentOffset().toString()))
        count = int(self._segment.getNumDocsIndexed())
        if count > self._runs.count:
            with self._held() as held:
                if not held:
                    return
                for start in range(self._runs.count, count, _PAGE_ROWS):
                    self._read(start, min(start + _PAGE_ROWS, count))
            self._grow()
        self.position = position

    def _read(self, start: int, end: int) -> None:
        rows = np.arange(start, end, dtype=np.int32)
        values = jpype.JArray(jpype.JLong)(len(rows))
        self._offsets.readValuesSV(jpype.JArray.of(rows), len(rows), values, None)
        self._runs.extend(np.array(values, np.int64))

    def apply(self, events: EventColumns) -> NDArray[np.bool_]:
        """Write events; returns which of them are about rows that it has."""
        rows = self._runs.rows(events.offsets)
        found = rows >= 0
        if found.any():
            chosen = (found & ~events.deleted, found & events.deleted)
            self._write([(rows[each], events.versions[each]) for each in chosen])
        return found

    def take_over(
        self, offsets: NDArray[np.int64], froms: NDArray[np.int64], untils: NDArray[np.int64]
    ) -> None:
        """Write the versions that another copy of the segment has."""
        rows = self._runs.rows(offsets)
        chosen = [(rows >= 0) & (values != NIL) for values in (froms, untils)]
        self._write(
            [(rows[each], values[each]) for each, values in zip(chosen, (froms, untils), strict=True)]
        )

    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows' offsets, inserting and deleting versions, as written from here."""
        froms, untils = self._capacity[:, : self._runs.count]
        return self._runs.offsets(), froms, untils

    def end(self) -> None:
        """Nothing more is written."""
        self._versions.end()

    @contextmanager
    def _held(self) -> Iterator[bool]:
        """Keep Pinot from freeing the segment's memory; False where it is gone already."""
        # By itself and not by its name: another may have that name by now, and queries have this one still.
        held = bool(self._manager.increaseReferenceCount())
        try:
            yield held
        finally:
            if held:
                self._release(self._table, self._manager)

    def _grow(self) -> None:
        if self._runs.count > self._capacity.shape[1]:
            more = np.full((2, max(1024, self._runs.count)), NIL, np.int64)
            self._capacity = np.concatenate([self._capacity, more], axis=1)

    def _write(self, versions: list[VersionsOfRows]) -> None:
        changes = write_first(list(self._capacity), versions)
        if changes is None:
            return
        with self._held() as held:
            if held:
                self._versions.write(changes)
