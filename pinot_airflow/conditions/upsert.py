"""A condition about the low-water mark of an upsert table."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.common.names import TableName, TableType
from controller_client.upsert.low_water_mark import TableMark, read_mark
from pinot_airflow.access import PinotAccess
from pinot_airflow.conditions.base import Condition, Seen

__all__ = ["MarkReaches"]


@dataclass(frozen=True)
class MarkReaches(Condition):
    """All servers of an upsert table are complete up to a version, or up to a time.

    Attributes:
        table: Name of the table.
        version: The version; None: only the time counts.
        at_ms: Epoch milliseconds: the mark's version must have been complete at the key coordinator at that
            time or later.
    """

    table: str
    version: int | None = None
    at_ms: int | None = None

    def look(self, access: PinotAccess) -> Seen:
        """Read the mark."""
        name = TableName.parse(self.table) or TableName.of(self.table, TableType.REALTIME)
        return self.judge(read_mark(access.store, name))

    def judge(self, mark: TableMark) -> Seen:
        """Compare a mark with the version and time."""
        there = mark.version >= 0
        reached = (
            there
            and (self.version is None or mark.version >= self.version)
            and (self.at_ms is None or mark.at_ms >= self.at_ms)
        )
        text = f"{mark.table} is at version {mark.version}" if there else f"no mark yet: {mark.why_none()}"
        return Seen(reached, text, {"table": str(mark.table), "version": mark.version, "at_ms": mark.at_ms})
