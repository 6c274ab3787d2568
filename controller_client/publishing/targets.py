"""Tables into which no segments can be published, and quotas without room: found before a push.

The quota is checked like by Pinot's StorageQuotaChecker, but for a whole replacement.
During a replacement, both the old and the new segments exist, so it needs room for both. Pinot checks the
quota with each push, so it would refuse midway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from controller_client.common.names import TableName, TableType
from controller_client.common.parsing import whole_number
from controller_client.errors import ConfigError, NotAppliedError
from controller_client.models import Schema, TableConfig
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.capabilities import Capabilities
from controller_client.rest.client import RestClient
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


_UNITS = {"": 1, "B": 1, "K": 2**10, "KB": 2**10, "M": 2**20, "MB": 2**20, "G": 2**30, "GB": 2**30}

_UNITS |= {"T": 2**40, "TB": 2**40, "P": 2**50, "PB": 2**50}


class QuotaExceededError(NotAppliedError):
    """The staged segments do not fit into the table's storage quota in addition to the existing ones."""


def check_quota(client: RestClient, table: TableName, segments: Iterable[StagedSegment]) -> None:
    """Raise an error unless the staged segments fit into the quota in addition to the existing ones.

    Raises:
        QuotaExceededError: They do not; nothing was pushed.
    """
    document = client.tables.in_use(table).to_json()
    per_replica = parse_quota((document.get("quota") or {}).get("storage"))
    if per_replica is None:
        return
    size = client.tables.size(table)
    named = str(document.get("segmentsConfig", {}).get("replication") or 1)
    # A template, which only Pinot's roles can replace, is as many as there are.
    present = max((len(entry.servers) for entry in size.segments), default=1)
    configured = whole_number(named)
    replicas = present if configured is None else configured
    quota = per_replica * replicas
    # None if no server has reported: Pinot then accepts a push.
    estimated_bytes = {entry.segment: entry.estimated_bytes or 0 for entry in size.segments}
    staged = list(segments)
    added = sum(segment.segment_size_bytes for segment in staged) * replicas
    # A segment refreshed in place is replaced by its successor.
    removed = sum(estimated_bytes.get(segment.name, 0) for segment in staged)
    used = size.estimated_bytes or 0
    if used - removed + added > quota:
        raise QuotaExceededError(
            f"the storage quota of {table} is {quota:,} bytes for {replicas} replicas: {used:,} are used"
            f" and {added:,} would be added",
            expected="room for both the old and the new segments",
            where=table,
            remedy="raise quota.storage in the table config, or free space with 'pinotctl task purge'",
        )


def parse_quota(text: str | None) -> int | None:
    """Parse ``quota.storage`` of a table config, e.g. ``"100G"``; None without a valid quota."""
    match = re.fullmatch(r"\s*([0-9]{1,19}(?:\.[0-9]{1,19})?)\s*([A-Za-z]*)\s*", text or "")
    if match is None or match[2].upper() not in _UNITS:
        return None
    return int(float(match[1]) * _UNITS[match[2].upper()])
