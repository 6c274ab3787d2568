"""Writes by name: how the segments of a Spark write are known by its ``writeId``, so that it is made once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from controller_client.common.names import TableName
from controller_client.rest.client import RestClient
from controller_client.rest.lineage import LineageEntry, LineageState

__all__ = ["committed_names", "names_prefix", "was_committed", "write_digest"]


def write_digest(write_id: str) -> str:
    """Return a write's id as it stands in the names and the metadata of its segments."""
    return hashlib.sha256(write_id.encode()).hexdigest()[:16]


def names_prefix(raw_table: str, write_id: str) -> str:
    """Return how the names of all segments of a write begin, whatever the attempt.

    Args:
        raw_table: The table's name without type.
        write_id: The write's id, as its user gave it.
    """
    return f"{raw_table}_spark_{write_digest(write_id)}_"


def was_committed(client: RestClient, table: TableName, names_prefix: str) -> bool:
    """Look for the write's segments, by how their names begin.

    They are in the table until an overwrite replaces them. From the commit on they are in the lineage, too,
    until Pinot's retention manager (every six hours) finds that what the entry replaced is gone.
    """
    remembered = committed_names(client.lineage.list(table))
    seen = client.segments.list(table, exclude_replaced=True)
    return any(name.startswith(names_prefix) for name in (*remembered, *seen))


def committed_names(entries: Iterable[LineageEntry]) -> list[str]:
    """Return the segments that completed replacements brought; an open or a reverted one brought none."""
    return [name for entry in entries if entry.state is LineageState.COMPLETED for name in entry.segments_to]
