"""Pinot's table names: ``flights`` is the raw name, ``flights_OFFLINE`` the name with type."""

from __future__ import annotations

from enum import StrEnum

from controller_client.errors import ConfigError

__all__ = ["TableType", "split_table_name", "with_type"]


class TableType(StrEnum):
    """The two kinds of tables (org.apache.pinot.spi.config.table.TableType)."""

    OFFLINE = "OFFLINE"
    REALTIME = "REALTIME"


def split_table_name(table_name_with_type: str) -> tuple[str, TableType]:
    """Take ``flights_OFFLINE`` apart.

    Raises:
        ConfigError: The name has no type.
    """
    for table_type in TableType:
        raw = table_name_with_type.removesuffix(f"_{table_type}")
        if raw and raw != table_name_with_type:
            return raw, table_type
    raise ConfigError(
        f"{table_name_with_type!r} is no table name with type",
        expected=f"{table_name_with_type}_OFFLINE or {table_name_with_type}_REALTIME",
    )


def with_type(table_name: str, table_type: TableType) -> str:
    """Add the type to a table name, unless it is there already."""
    suffix = f"_{table_type}"
    return table_name if table_name.endswith(suffix) else table_name + suffix
