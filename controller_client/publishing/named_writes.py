"""Named writes: identifies the segments of a Spark write by its ``writeId``, so that it is made only once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from controller_client.rest.lineage import LineageEntry, LineageState, TableView

__all__ = ["committed_names", "names_prefix", "was_committed", "write_digest"]


def write_digest(write_id: str) -> str:
    """Return a write's id as used in the names and metadata of its segments."""
    return hashlib.sha256(write_id.encode()).hexdigest()[:16]


def names_prefix(raw_table: str, write_id: str) -> str:
    """Return the prefix of the names of all segments of a write, for all attempts.

    Args:
        raw_table: The table's name without type.
        write_id: The write's id, as given by the user.
    """
    return f"{raw_table}_spark_{write_digest(write_id)}_"


def was_committed(view: TableView, names_prefix: str) -> bool:
    """Return whether segments of the write, found by the prefix of their names, were committed.

    They are in the table until an overwrite replaces them. From the commit on they are also in the lineage,
    until Pinot's retention manager (every six hours) finds that the replaced segments are gone.
    """
    names = (*committed_names(view.entries), *view.visible)
    return any(name.startswith(names_prefix) for name in names)


def committed_names(entries: Iterable[LineageEntry]) -> list[str]:
    """Return the segments added by completed replacements; open and reverted ones have added none."""
    return [name for entry in entries if entry.state is LineageState.COMPLETED for name in entry.segments_to]
