"""Which partitions of a table are held, by what its servers report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.partition_report import HoldReport, read_reports
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition
from controller_client.zookeeper import PropertyStore

__all__ = ["PartitionHolds", "read_holds"]


@dataclass(frozen=True)
class PartitionHolds:
    """What is held of a table.

    Attributes:
        paused: Partitions that shall be held.
        holding: Those that are, for sure: partition -> the servers that hold it. An empty tuple: the
            partition has no consuming segment, so nothing is to be held.
        missing: Those that are not yet: partition -> the servers that still consume.
    """

    paused: frozenset[int]
    holding: Mapping[int, tuple[str, ...]]
    missing: Mapping[int, tuple[str, ...]]


def read_holds(store: PropertyStore, table: TableName, ideal: IdealState) -> PartitionHolds:
    """What of a table, with this ideal state, is held now."""
    reports = read_reports(store)
    consuming = newest_by_partition(ideal.consuming)
    holding, missing = {}, {}
    for partition in sorted(ideal.flags.paused_partitions):
        segment = consuming.get(partition)
        instances = ideal.consuming[segment.name] if segment else ()
        late = tuple(name for name in instances if not _held(reports, name, table, segment))
        if late:
            missing[partition] = late
        else:
            holding[partition] = instances
    return PartitionHolds(ideal.flags.paused_partitions, holding, missing)


def _held(
    reports: Mapping[str, HoldReport], instance: str, table: TableName, segment: SegmentName | None
) -> bool:
    report = reports.get(instance)
    return bool(report and segment and report.held.get(table, {}).get(segment.partition) == segment.name)
