"""Whether a write was committed before, so that it is not made twice."""

from __future__ import annotations

from collections.abc import Iterable

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.rest.lineage import LineageEntry, LineageState

__all__ = ["committed_names", "was_committed"]


def was_committed(client: ControllerClient, table: TableName, names_prefix: str) -> bool:
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
