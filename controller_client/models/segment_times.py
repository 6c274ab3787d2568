"""The times of a segment, which decide when retention deletes it and which queries read it.

If a time column counts steps of several units (``5:MINUTES:EPOCH``), Pinot's own segment writer records the
numbers of steps as numbers of units: 2024 becomes 1980. This project's builder records the right times. The
servers of a realtime table use Pinot's writer.
"""

from __future__ import annotations

from controller_client.common.names import TableType
from controller_client.errors import ConfigError
from controller_client.models.epoch_format import EpochFormat
from controller_client.models.schema import Schema
from controller_client.models.table import TableConfig

__all__ = ["check_segment_times", "steps_of_time_column", "wrong_times"]


def steps_of_time_column(table: TableConfig, schema: Schema) -> EpochFormat | None:
    """Return the format of a table's time column if it counts steps of several units."""
    field = schema.field(table.time_column) if table.time_column else None
    epoch = EpochFormat.parse(field.format) if field is not None else None
    return epoch if epoch is not None and epoch.size > 1 else None


def wrong_times(table: TableConfig, schema: Schema) -> str | None:
    """Return why the segments of a table would get wrong times; None if they would not."""
    epoch = steps_of_time_column(table, schema)
    if epoch is None or table.table_type is not TableType.REALTIME:
        return None
    return (
        f"its time column {table.time_column} counts steps of {epoch.size} {epoch.unit}, but the servers of a"
        f" realtime table record them as single {epoch.unit}: its segments would seem to be decades old, and"
        " retention would delete them"
    )


def check_segment_times(table: TableConfig, schema: Schema) -> None:
    """Reject a realtime table whose segments would get wrong times.

    Raises:
        ConfigError: They would.
    """
    reason = wrong_times(table, schema)
    if reason is not None:
        raise ConfigError(
            f"{table.name_with_type}: {reason}",
            expected="a format of single units, such as 1:MINUTES:EPOCH",
            where=f"schema {schema.schema_name}",
            remedy="use another column as the time column; a transform can compute it",
        )
