"""How far the upsert tables of a server are, as metrics of its process."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.common.names import TableName
from controller_client.monitoring import Monitoring, catalogue, replace_values
from controller_client.upsert.columns import NIL
from server_hooks.upsert.table_state import TableState

__all__ = ["UpsertMetrics"]


class UpsertMetrics:
    """Told by the hook's thread, after each look.

    Args:
        monitoring: Of the process.
    """

    def __init__(self, monitoring: Monitoring) -> None:
        self._mark = monitoring.gauge(catalogue.UPSERT_MARK)
        self._mark_at = monitoring.gauge(catalogue.UPSERT_MARK_AT)
        self._pending = monitoring.gauge(catalogue.UPSERT_PENDING)

    def looked(self, states: Mapping[TableName, TableState]) -> None:
        """Take in how far the tables are; those that are not among them are gone."""
        marks = {table: state.mark() for table, state in states.items()}
        replace_values(self._mark, {(table,): mark.version for table, mark in marks.items()})
        made: dict[tuple[str, ...], float] = {
            (table,): mark.at_ms / 1000 for table, mark in marks.items() if mark.version != NIL
        }
        replace_values(self._mark_at, made)
        replace_values(self._pending, {(table,): state.pending() for table, state in states.items()})
