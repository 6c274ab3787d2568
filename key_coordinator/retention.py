"""How long the updates topic must keep its messages: as long as a server may have to read them.

A server that starts without a log of its own needs the events of all rows that the table has. Events are as
old as their rows, but a segment is deleted only when its newest row is older than the table's retention, and
not before Pinot's next check, every 6 hours. A segment whose times are in the future is kept even longer.
"""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.helix.table_config import read_table_config
from controller_client.models import retention_ms
from controller_client.upsert.floors import oldest_segments
from controller_client.zookeeper import PropertyStore

__all__ = ["FOREVER_MS", "longer_retention_ms", "needed_ms"]

FOREVER_MS = -1
"""Kafka's value of ``retention.ms`` for no limit."""
_LEAST_MARGIN_MS = 86_400_000
_MARGIN_PART = 5


def needed_ms(store: PropertyStore, table: TableName, now_s: float) -> int:
    """Return for how long rows stay in a table, in milliseconds, or :data:`FOREVER_MS`.

    This is the table's retention, or the age of its oldest segment if that is greater.

    Raises:
        NotFoundError: There is no such table.
        UnreachableError: ZooKeeper does not answer.
    """
    config = read_table_config(store, table)
    if config is None:
        raise NotFoundError(f"the table {table} does not exist", where=store.cluster_name)
    kept_ms = retention_ms(table, config.to_json())
    if kept_ms is None:
        return FOREVER_MS
    created = (record.created_ms for record in oldest_segments(store, table).values())
    return max([kept_ms, *(round(now_s * 1000) - each for each in created if each is not None)])


def longer_retention_ms(present_ms: int, kept_ms: int) -> int | None:
    """Return the retention that a topic should get instead of its present one; None if that is enough.

    The margin covers what a segment outlives the retention of its first row: the time in which it was filled,
    and Pinot's interval of checks. A retention is never shortened: what a server may need would be lost. One
    that lacks less than half the margin stays, so that a growing need does not change it each time.

    Args:
        present_ms: The topic's retention.
        kept_ms: The result of :func:`needed_ms`.
    """
    if present_ms == FOREVER_MS:
        return None
    if kept_ms == FOREVER_MS:
        return FOREVER_MS
    margin_ms = max(_LEAST_MARGIN_MS, kept_ms // _MARGIN_PART)
    return kept_ms + margin_ms if present_ms < kept_ms + margin_ms // 2 else None
