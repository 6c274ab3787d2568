"""Tables into which no segments can be published: found out before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller_client.common.names import TableType
from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.rest.capabilities import Capabilities
from controller_client.rest.column_types import check_columns
from controller_client.segment_tar import DescribedSegment

__all__ = ["FILE_INGESTION", "check_target", "check_upload"]

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
    mode = _offline_upsert(config)
    if mode is not None:
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


def check_upload(config: TableConfig, segments: Iterable[DescribedSegment]) -> None:
    """Refuse segments that no server of the table could load.

    Raises:
        ConfigError: The table uses Pinot's own upsert, and a segment is not one of one partition.
    """
    if _offline_upsert(config) is None:
        return
    for segment in segments:
        if not segment.is_of_one_partition:
            raise ConfigError(
                f"the segment {segment.name} does not name its one partition, which {config.name_with_type}"
                " needs for Pinot's own upsert: servers would not load it, and all queries of the table fail",
                expected="rows of one partition of segmentPartitionConfig, by which the segment was built",
            )


def _offline_upsert(config: TableConfig) -> str | None:
    """The mode of Pinot's own upsert in an OFFLINE table; None in other tables."""
    return config.pinots_upsert if config.table_type is TableType.OFFLINE else None
