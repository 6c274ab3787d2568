"""The table's storage quota, checked before anything is pushed; as Pinot's StorageQuotaChecker does.

A replacement holds both the old and the new segments for a while (seed: key point 8), so it needs room for
both. Pinot checks the quota push by push: it would refuse in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.client import RestClient

_UNITS = {"": 1, "B": 1, "K": 2**10, "KB": 2**10, "M": 2**20, "MB": 2**20, "G": 2**30, "GB": 2**30}
_UNITS |= {"T": 2**40, "TB": 2**40, "P": 2**50, "PB": 2**50}


class QuotaExceededError(NotAppliedError):
    """The staged segments do not fit into the table's storage quota beside those that are there."""


def check_quota(client: RestClient, table: TableName, segments: Iterable[StagedSegment]) -> None:
    """Raise unless the staged segments fit beside what is there.

    Raises:
        QuotaExceededError: They do not; nothing was pushed.
    """
    document = client.tables.get(table).to_json()
    per_replica = parse_quota((document.get("quota") or {}).get("storage"))
    if per_replica is None:
        return
    replicas = int(document.get("segmentsConfig", {}).get("replication") or 1)
    quota = per_replica * replicas
    size = client.tables.size(table)
    # None where no server has reported: Pinot lets a push pass then.
    estimated_bytes = {each.segment: each.estimated_bytes or 0 for each in size.segments}
    staged = list(segments)
    coming = sum(segment.segment_size_bytes for segment in staged) * replicas
    # One that is refreshed in place goes as its successor comes.
    going = sum(estimated_bytes.get(segment.name, 0) for segment in staged)
    there = size.estimated_bytes or 0
    if there - going + coming > quota:
        raise QuotaExceededError(
            f"the storage quota of {table} is {quota:,} bytes for {replicas} replicas: {there:,} are used"
            f" and {coming:,} would be added",
            expected="room for the old and the new segments side by side",
            where=table,
            remedy="raise quota.storage in the table config, or make room with 'pinotctl task purge'",
        )


def parse_quota(text: str | None) -> int | None:
    """Read ``quota.storage`` of a table config, e.g. ``"100G"``; None without a quota or with an odd one."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text or "")
    if match is None or match[2].upper() not in _UNITS:
        return None
    return int(float(match[1]) * _UNITS[match[2].upper()])
