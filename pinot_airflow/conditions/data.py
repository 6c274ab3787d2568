"""A condition about the time up to which queries see data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from controller_client.common.names import TableName, TableType
from controller_client.common.sql_text import quoted
from controller_client.errors import ConfigError
from controller_client.models import TableConfig
from controller_client.models.epoch_format import EpochFormat
from controller_client.models.schema import SchemaField
from pinot_airflow.access import PinotAccess
from pinot_airflow.conditions.base import Condition, Seen

__all__ = ["DataReaches"]

_MS_NS = 1_000_000


@dataclass(frozen=True)
class DataReaches(Condition):
    """A table has a row with a given time or a later one.

    Attributes:
        table: Name of the table; without type, both parts of a hybrid table count.
        until_ms: The time in epoch milliseconds.
        column: The column with the time; None: the table's time column.
    """

    table: str
    until_ms: int
    column: str | None = None

    def look(self, access: PinotAccess) -> Seen:
        """Query the maximum of the column."""
        config = _config(access, self.table)
        column = self.column or config.time_column
        if column is None:
            raise ConfigError(f"{config.name_with_type} has no time column", remedy="set column")
        field = access.client.schemas.of_table(config).field(column)
        if field is None:
            raise ConfigError(f"{config.name_with_type} has no column {column}")
        expression, unit_ns = _time_of(field)
        sql = f"SELECT MAX({expression}) FROM {self.table}"  # noqa: S608  # both are from the schema and checked
        rows = access.broker.query(sql).rows
        value = rows[0][0] if rows else None
        if value is None or not math.isfinite(float(value)):
            return Seen(False, f"{self.table} has no rows")
        at_ms = int(value) * unit_ns // _MS_NS
        text = f"{self.table} has data up to {_shown(at_ms)}; waiting for {_shown(self.until_ms)}"
        return Seen(at_ms >= self.until_ms, text, {"table": self.table, "at_ms": at_ms})


def _config(access: PinotAccess, table: str) -> TableConfig:
    name = TableName.parse(table)
    if name is None:
        name = TableName.of(table, TableType.REALTIME)
        if not access.client.tables.exists(name):
            name = name.as_type(TableType.OFFLINE)
    return access.client.tables.in_use(name)


def _time_of(field: SchemaField) -> tuple[str, int]:
    """Return a SQL expression for the time, and its unit in nanoseconds."""
    name = quoted(field.name)
    epoch = EpochFormat.parse(field.format)
    if epoch is not None:
        return name, epoch.step_ns
    if field.data_type == "TIMESTAMP":
        return name, _MS_NS
    if field.format is None:
        raise ConfigError(
            f"column {field.name} is not a time column", expected="a column in dateTimeFieldSpecs"
        )
    form = field.format.replace("'", "''")
    return f"DATETIMECONVERT({name}, '{form}', '1:MILLISECONDS:EPOCH', '1:MILLISECONDS')", _MS_NS


def _shown(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
