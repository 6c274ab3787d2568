"""Deletes segments that a switch has replaced, after their retention period.

New queries do not read them, but a query that began before the switch may, and the lineage entry can be
reverted only while they exist. Pinot deletes them too, at a time of its own (its RetentionManager runs every
six hours); since 1.6 it lets nobody else do it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import RejectedError
from controller_client.rest.capabilities import Capability
from controller_client.rest.delete_risks import OF_REPLACED
from controller_client.rest.lineage import LineageEntry, LineageState
from controller_client.zookeeper import PropertyStore, segment_path
from minion_tasks.file_ingestion.plan.provenance import SESSION_KEY

logger = logging.getLogger(__name__)


def purgeable(
    entries: Sequence[LineageEntry], present: Collection[str], *, now_ms: int, older_than_s: float
) -> list[str]:
    """Return the segments that are no longer needed.

    These were replaced by an entry that completed longer than the retention period ago, still exist, and
    appear in no other open entry (which could make them visible again).

    Args:
        entries: The table's lineage.
        present: All segments of the table.
        now_ms: Epoch milliseconds.
        older_than_s: The retention period.
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


def check_purgeable(client: ControllerClient, table: TableName) -> None:
    """Raise an error if only Pinot may delete replaced segments.

    Raises:
        RejectedError: Pinot keeps them as long as the table's config says.
    """
    if _are_protected(client):
        raise RejectedError(
            f"Pinot {client.cluster.version()} deletes replaced segments itself, and nobody else may",
            where=table,
            remedy="set segmentsConfig.replacedSegmentsRetentionPeriod in the table's config (default: 24 h "
            "after the replacement, for append tables 4 h); Pinot applies it every six hours",
        )


def _are_protected(client: ControllerClient) -> bool:
    return client.cluster.capabilities().has(Capability.LINEAGE_PROTECTED)


def purge(
    client: ControllerClient,
    store: PropertyStore,
    table: TableName,
    *,
    now_ms: int,
    older_than_s: float,
    dry_run: bool = False,
) -> list[str]:
    """Delete segments that this task's switches have replaced; entries of other writers are ignored.

    Returns:
        The segments that were (or, with ``dry_run``, would be) deleted; none if only Pinot may delete them.
    """
    if _are_protected(client):
        return []
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
        client.segments.delete(table, names, accept=OF_REPLACED)
        logger.info("%s: %d replaced segments purged", table, len(names))
    return names


def _is_ours(store: PropertyStore, table: TableName, entry: LineageEntry, present: Collection[str]) -> bool:
    for name in entry.segments_to:
        if name in present:
            found = store.get(segment_path(table, name))
            if found is not None:
                return SESSION_KEY in found.record.map_fields.get("custom.map", {})
    # The new segments have since been replaced and deleted themselves; a later entry shows that.
    return not any(name in present for name in entry.segments_to)
