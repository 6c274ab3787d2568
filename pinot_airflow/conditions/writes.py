"""A condition about a Spark write."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.common.names import TableName, TableType
from controller_client.errors import NotFoundError
from controller_client.publishing.named_writes import names_prefix, was_committed
from pinot_airflow.access import PinotAccess
from pinot_airflow.conditions.base import Condition, Seen

__all__ = ["WriteIsPublished"]


@dataclass(frozen=True)
class WriteIsPublished(Condition):
    """A write with the format ``pinot`` and this ``writeId`` is published in its table.

    Attributes:
        table: Name of the OFFLINE table, with or without type.
        write_id: The write's option ``writeId``.
    """

    table: str
    write_id: str

    def look(self, access: PinotAccess) -> Seen:
        """Check the table's lineage and the segments that queries see."""
        name = TableName.parse(self.table) or TableName.of(self.table, TableType.OFFLINE)
        try:
            published = was_committed(access.client.lineage.view(name), names_prefix(name.raw, self.write_id))
        except NotFoundError:
            return Seen(False, f"table {name} does not exist yet")
        text = "is published" if published else "is not published yet"
        return Seen(
            published,
            f"write {self.write_id} of {name} {text}",
            {"table": str(name), "write_id": self.write_id},
        )
