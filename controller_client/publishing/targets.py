"""Tables into which no segments can be published: found out before anything is built."""

from __future__ import annotations

from collections.abc import Callable

from controller_client.common.names import TableType
from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.rest.capabilities import Capabilities
from controller_client.rest.column_types import check_columns

__all__ = ["FILE_INGESTION", "check_target"]

FILE_INGESTION = "FileIngestionTask"
"""The task type that publishes segments into the table whose config contains it."""


def check_target(config: TableConfig, schema: Schema, capabilities: Callable[[], Capabilities]) -> None:
    """Refuse a table into which segments cannot be published as one replacement.

    Args:
        config: The table's config.
        schema: Its schema.
        capabilities: Reads what the cluster's version supports.

    Raises:
        ConfigError: It is an OFFLINE table with Pinot's own upsert (Pinot 1.5 and later).
        UnsupportedError: No segment can be built with one of its columns.
    """
    mode = config.pinots_upsert
    if mode is not None and config.table_type is TableType.OFFLINE:
        # Run on 1.5.1: after a segment was deleted, the rows that it had superseded stayed hidden, and one
        # segment that did not load made every query of the table fail.
        raise ConfigError(
            f"{config.name_with_type} uses Pinot's own upsert ({mode}), so segments cannot be published in"
            " one step: a server hides the rows that a segment supersedes as soon as it loads the segment,"
            " and does not show them again if the segment is removed",
            expected="an OFFLINE table without upsertConfig",
            remedy="use a table without it; or build segments that contain the rows of one partition each,"
            " and add them with 'pinotctl segment upload'",
        )
    check_columns(schema.to_json(), capabilities)
