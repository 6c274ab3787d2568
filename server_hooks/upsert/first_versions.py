"""Versions are written into rows' columns: of each row the first one counts, in whichever order they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL
from server_hooks.upsert.events import earlier

__all__ = ["Changes", "Told", "VersionsOfRows", "write_first"]

VersionsOfRows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows, of which one may be there several times, and a version for each."""


@dataclass(frozen=True)
class Changes:
    """What was written into the columns of a segment.

    Attributes:
        rows: The rows: those that were inserted, then those that were deleted; each once in each half.
        versions: Of each of them.
        inserted: How many of them were inserted.
        lower: Whether one of them had a later version before.
    """

    rows: NDArray[np.int32]
    versions: NDArray[np.int64]
    inserted: int
    lower: bool


class Told(Protocol):
    """Is told of what is written into a segment's columns, after it was; for one thread at a time."""

    def wrote(self, changes: Changes) -> None:
        """The columns have these versions now."""
        ...

    def end(self) -> None:
        """Nothing more is written: the segment is gone, or another copy is in its place."""
        ...


def write_first(columns: Sequence[Any], versions: Sequence[VersionsOfRows]) -> Changes | None:
    """Write versions into columns where a row has none, or a later one.

    Args:
        columns: ``$validFrom`` and ``$validUntil``, arrays of any integers; they are changed.
        versions: For each of the two.

    Returns:
        What was changed; None for nothing.
    """
    found = [_write(column, *each) for column, each in zip(columns, versions, strict=True)]
    rows = np.concatenate([each for each, _, _ in found])
    if not len(rows):
        return None
    return Changes(
        rows.astype(np.int32),
        np.concatenate([each for _, each, _ in found]),
        len(found[0][0]),
        any(lower for _, _, lower in found),
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
