"""Deleting segments that a switch has replaced, after their grace period.

Queries do not see them, but a query that began before the switch may still read them, and as long as they
are there the lineage entry can be reverted. Pinot itself deletes them too, at its own time (its
RetentionManager runs every six hours).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.rest.lineage import LineageEntry, LineageState
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.plan.provenance import SESSION_KEY

logger = logging.getLogger(__name__)


def purgeable(
    entries: Sequence[LineageEntry], present: Collection[str], *, now_ms: int, older_than_s: float
) -> list[str]:
    """Return the segments that nothing needs any more.

    These were replaced by a completed entry longer than the grace period ago, are still there, and stand in
    no other live entry (whose state could bring them back).

    Args:
        entries: The table's lineage.
        present: All segments of the table.
        now_ms: Epoch milliseconds.
        older_than_s: The grace period.
    """
    needed = {
        name
        for entry in entries
        if entry.state is LineageState.IN_PROGRESS
        for name in (*entry.segments_from, *entry.segments_to)
    }
    replaced = {
        name
        for entry in entries
        if entry.state is LineageState.COMPLETED and now_ms - entry.timestamp_ms >= older_than_s * 1000
        for name in entry.segments_from
    }
    return sorted(replaced.intersection(present) - needed)


def purge(
    client: ControllerClient,
    store: PropertyStore,
    table: TableName,
    *,
    now_ms: int,
    older_than_s: float,
    dry_run: bool = False,
) -> list[str]:
    """Delete what this task's switches have replaced; entries of other writers are left alone.

    Returns:
        The segments that were (or, with ``dry_run``, would be) deleted.
    """
    entries = [entry for entry in client.lineage.list(table) if entry.segments_from]
    if not entries:
        return []
    present = set(client.segments.list(table, exclude_replaced=False))
    ours = [
        entry
        for entry in entries
        if entry.state is not LineageState.COMPLETED or _is_ours(store, table, entry, present)
    ]
    names = purgeable(ours, present, now_ms=now_ms, older_than_s=older_than_s)
    if names and not dry_run:
        client.segments.delete(table, names)
        logger.info("%s: %d replaced segments are purged", table, len(names))
    return names


def _is_ours(store: PropertyStore, table: TableName, entry: LineageEntry, present: Collection[str]) -> bool:
    for name in entry.segments_to:
        if name in present:
            found = store.get(f"/SEGMENTS/{table}/{name}")
            if found is not None:
                return SESSION_KEY in found.record.map_fields.get("custom.map", {})
    # What came has been replaced itself since and is gone: the later entry shows it.
    return not any(name in present for name in entry.segments_to)
