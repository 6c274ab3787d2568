"""Reads the data for the doctor of a table's lineage from the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.publishing.doctor import Diagnosis, diagnose
from controller_client.rest.client import RestClient
from controller_client.rest.lineage_entry import LineageEntry, LineageState
from controller_client.rest.segment_states import Unloaded

__all__ = ["examine_lineage"]

# A pushed segment that is not loaded within this time is a fault; the push times of at most this many
# segments are read.
_LOADS_WITHIN_S = 60.0
_PUSH_TIMES_READ = 20


def examine_lineage(client: RestClient, table: TableName, older_than_s: float) -> list[Diagnosis]:
    """Find the leftovers of interrupted replacements in a table; changes nothing.

    Args:
        client: Client of the cluster.
        table: Name with type.
        older_than_s: An entry in progress is stuck from this age on: longer than any replacement takes.

    Returns:
        Faults, oldest entry first; empty if all is well.

    Raises:
        NotFoundError: There is no such table.
    """
    entries = client.lineage.list(table)
    segments = client.segments.list(table, exclude_replaced=False)
    now_ms = int(client.clock.now() * 1000)
    unloaded = _unloaded(client, table, entries, segments, now_ms)
    in_error = any(fault.in_error for fault in unloaded)
    return diagnose(
        entries,
        segments,
        now_ms=now_ms,
        older_than_s=older_than_s,
        unloaded=unloaded,
        reasons=client.segments.load_errors(table) if in_error else {},
    )


def _unloaded(
    client: RestClient,
    table: TableName,
    entries: Sequence[LineageEntry],
    segments: Sequence[str],
    now_ms: int,
) -> Sequence[Unloaded]:
    """Find missing segments: of open entries, those that are overdue; of completed ones, all."""
    by_state: dict[LineageState, set[str]] = {state: set() for state in LineageState}
    for entry in entries:
        by_state[entry.state].update(entry.segments_to)
    existing = set(segments)
    pushed = by_state[LineageState.IN_PROGRESS] & existing
    served = by_state[LineageState.COMPLETED] & existing
    wanted = sorted(pushed | served)
    faults = client.segments.unloaded(table, wanted) if wanted else []
    waiting = sorted({fault.segment for fault in faults if not fault.in_error and fault.segment in pushed})
    overdue = {
        name for name in waiting[:_PUSH_TIMES_READ] if _age_s(client, table, name, now_ms) >= _LOADS_WITHIN_S
    }
    return [
        fault for fault in faults if fault.in_error or fault.segment in overdue or fault.segment not in pushed
    ]


def _age_s(client: RestClient, table: TableName, segment: str, now_ms: int) -> float:
    try:
        metadata = client.segments.metadata(table, segment)
    except NotFoundError:
        return 0.0  # deleted since it was listed
    return (now_ms - (metadata.refresh_time_ms or metadata.push_time_ms or 0)) / 1000
