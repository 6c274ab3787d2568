"""Checks the table's storage quota before anything is pushed, like Pinot's StorageQuotaChecker.

During a replacement, both the old and the new segments exist, so it needs room for both. Pinot checks the
quota with each push, so it would refuse midway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.errors import NotAppliedError
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.client import RestClient

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
    present = max((len(each.servers) for each in size.segments), default=1)
    configured = whole_number(named)
    replicas = present if configured is None else configured
    quota = per_replica * replicas
    # None if no server has reported: Pinot then accepts a push.
    estimated_bytes = {each.segment: each.estimated_bytes or 0 for each in size.segments}
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
