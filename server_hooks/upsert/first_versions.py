"""Writes versions into the columns of rows: a row's first version counts, in whichever order they arrive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL
from server_hooks.upsert.events import EventColumns, earlier
from server_hooks.upsert.offset_runs import OffsetRuns

__all__ = ["Changes", "VersionedRows", "VersionsListener", "VersionsOfRows", "write_first"]

VersionsOfRows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows, possibly with repetitions, and a version for each."""


@dataclass(frozen=True)
class Changes:
    """The versions that were written into the columns of a segment.

    Attributes:
        rows: The inserted rows, then the deleted rows; each row appears once in each part.
        versions: Version of each of them.
        inserted: Number of inserted rows.
        lower: Whether one of them had a later version before.
    """

    rows: NDArray[np.int32]
    versions: NDArray[np.int64]
    inserted: int
    lower: bool


class VersionsListener(Protocol):
    """Receives the changes of a segment's columns after they were written; used by one thread at a time."""

    def wrote(self, changes: Changes) -> None:
        """Called after these versions were written into the columns."""
        ...

    def end(self) -> None:
        """Called when nothing more is written: the segment was removed, or replaced by another copy."""
        ...


class VersionedRows(ABC):
    """The rows of a segment, by the offsets of their messages, and their versions; used by one thread."""

    def __init__(self) -> None:
        self._runs = OffsetRuns()

    @property
    def last(self) -> int:
        """Offset of the last row; -1 if there are no rows."""
        return self._runs.last

    def apply(self, events: EventColumns) -> NDArray[np.bool_]:
        """Write events; returns which of them refer to rows of this segment."""
        rows = self._runs.rows(events.offsets)
        matches = rows >= 0
        chosen = (matches & ~events.deleted, matches & events.deleted)
        self._write([(rows[each], events.versions[each]) for each in chosen])
        return matches

    def copy_versions(
        self, offsets: NDArray[np.int64], froms: NDArray[np.int64], untils: NDArray[np.int64]
    ) -> None:
        """Write the versions from another copy of the segment; rows that only one copy has stay unchanged."""
        rows = self._runs.rows(offsets)
        chosen = [(rows >= 0) & (values != NIL) for values in (froms, untils)]
        self._write(
            [(rows[each], values[each]) for each, values in zip(chosen, (froms, untils), strict=True)]
        )

    @abstractmethod
    def _write(self, versions: Sequence[VersionsOfRows]) -> None:
        """Write the versions for each of the two columns, by :func:`write_first`."""


def write_first(columns: Sequence[Any], versions: Sequence[VersionsOfRows]) -> Changes | None:
    """Write versions into columns where a row has none, or a later one.

    Args:
        columns: ``$validFrom`` and ``$validUntil``, arrays of any integer type; they are changed.
        versions: The versions for each of the two columns.

    Returns:
        The changes, or None if there are none.
    """
    changes = [_write(column, *each) for column, each in zip(columns, versions, strict=True)]
    rows = np.concatenate([changed_rows for changed_rows, _, _ in changes])
    if not len(rows):
        return None
    return Changes(
        rows.astype(np.int32),
        np.concatenate([after for _, after, _ in changes]),
        len(changes[0][0]),
        any(lower for _, _, lower in changes),
    )


def _write(
    column: Any, rows: NDArray[np.int64], versions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    if not len(rows):
        return rows, versions, False
    order = np.lexsort((versions, rows))
    rows, versions = rows[order], versions[order]
    again = rows[1:] == rows[:-1]
    if again.any():
        first = np.append(True, ~again)
        rows, versions = rows[first], versions[first]
    before = column[rows].astype(np.int64)
    after = earlier(before, versions)
    changed = after != before
    rows, after = rows[changed], after[changed]
    column[rows] = after
    return rows, after, bool((before[changed] != NIL).any())
