"""The columns of a consuming segment, in Pinot's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jpype
import numpy as np
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL, OFFSET
from server_hooks.upsert.first_versions import VersionedRows, VersionsOfRows, write_first
from server_hooks.upsert.served_versions import SegmentVersions

__all__ = ["ConsumingRows"]

_PAGE_ROWS = 200_000


class ConsumingRows(VersionedRows):
    """The rows of a consuming segment; see :class:`~server_hooks.upsert.partition.ConsumingPart`.

    It keeps a copy of the versions that it wrote: the segment that Pinot builds from this one lacks versions
    that were written during the build, and the memory of a removed segment must not be accessed.

    Args:
        table: Pinot's data manager of the table.
        manager: Pinot's data manager of the segment; the caller has acquired it.
        name: Name of the segment.
        sequence: Its sequence number in the partition.
        start: Its start offset.
        versions: The versions of its rows for queries; writes them into Pinot's memory.
        release: Given table and manager, releases the manager. It does so in another thread, as the last
            release of a dropped segment destroys it and waits for its consumer.
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
        super().__init__()
        self.name = name
        self.sequence = sequence
        self.position = start
        self._start = start
        self._table = table
        self._release = release
        self._manager = manager
        self._capacity = np.full((2, 0), NIL, np.int64)
        segment = manager.getSegment()
        self._segment = segment
        self._versions = versions
        self._offsets = segment.getDataSource(OFFSET).getForwardIndex()

    @property
    def first(self) -> int:
        """The start offset of the segment."""
        return self._start

    def refresh(self) -> None:
        """Read the offsets of rows that were indexed since the last call."""
        # In this order: Pinot advances the offset after it has indexed the row.
        position = int(str(self._manager.getCurrentOffset().toString()))
        count = int(self._segment.getNumDocsIndexed())
        if count > self._runs.count:
            with self._acquired() as acquired:
                if not acquired:
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

    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows' offsets, inserting and deleting versions, as this object wrote them."""
        froms, untils = self._capacity[:, : self._runs.count]
        return self._runs.offsets(), froms, untils

    def end(self) -> None:
        """Stop writing."""
        self._versions.end()

    @contextmanager
    def _acquired(self) -> Iterator[bool]:
        """Prevent Pinot from freeing the segment's memory; yields False if it is already freed."""
        # Not by its name: another segment may have that name by now, while queries still use this one.
        acquired = bool(self._manager.increaseReferenceCount())
        try:
            yield acquired
        finally:
            if acquired:
                self._release(self._table, self._manager)

    def _grow(self) -> None:
        if self._runs.count > self._capacity.shape[1]:
            more = np.full((2, max(1024, self._runs.count)), NIL, np.int64)
            self._capacity = np.concatenate([self._capacity, more], axis=1)

    def _write(self, versions: Sequence[VersionsOfRows]) -> None:
        changes = write_first(list(self._capacity), versions)
        if changes is None:
            return
        with self._acquired() as acquired:
            if acquired:
                self._versions.write(changes)
