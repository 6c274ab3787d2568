"""The metrics of a server's upsert tables: their progress, and counts of queries, which are kept in Java."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import jpype

from controller_client.common.names import TableName
from controller_client.monitoring import Monitoring, catalogue, replace_values
from controller_client.upsert.columns import NIL
from server_hooks.upsert.server_events import PACKAGE
from server_hooks.upsert.table_state import UpsertTableState

__all__ = ["COUNTERS", "UpsertMetrics", "count"]


COUNTERS: Mapping[str, str] = MappingProxyType(
    {
        "versionHits": "HITS",
        "versionsCarried": "CARRIED",
        "versionScans": "SCANS",
        "versionFailures": "FAILURES",
        "queriesRefused": "REFUSED",
    }
)
"""Names of the counters, and their constants in ``Counter.java``."""


def count(name: str) -> int:
    """Return the value of one of :data:`COUNTERS`, once the Java classes are loaded."""
    return int(jpype.JClass(f"{PACKAGE}.Counter").valueOf(COUNTERS[name]).count())


class UpsertMetrics:
    """Updated by the hook's thread after each tick.

    Args:
        monitoring: The metrics of the process.
    """

    def __init__(self, monitoring: Monitoring) -> None:
        self._mark = monitoring.gauge(catalogue.UPSERT_MARK)
        self._mark_at = monitoring.gauge(catalogue.UPSERT_MARK_AT)
        self._pending = monitoring.gauge(catalogue.UPSERT_PENDING)
        self._lost = monitoring.gauge(catalogue.UPSERT_LOST)

    def update(self, states: Mapping[TableName, UpsertTableState]) -> None:
        """Publish the progress of the tables; values of all other tables are removed."""
        marks = {table: state.mark() for table, state in states.items()}
        replace_values(self._mark, {(table,): mark.version for table, mark in marks.items()})
        completed: dict[tuple[str, ...], float] = {
            (table,): mark.at_ms / 1000 for table, mark in marks.items() if mark.version != NIL
        }
        replace_values(self._mark_at, completed)
        replace_values(self._pending, {(table,): state.pending() for table, state in states.items()})
        replace_values(self._lost, {(table,): len(state.lost_partitions) for table, state in states.items()})
