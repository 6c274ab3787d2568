"""Which partitions of a table are paused, according to its servers' reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.state.partition_report import PartitionReport, read_reports
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition
from controller_client.zookeeper import PropertyStore

__all__ = ["PartitionPauses", "read_partition_pauses"]


@dataclass(frozen=True)
class PartitionPauses:
    """Which partitions of a table are paused.

    Attributes:
        wanted: Partitions that should be paused.
        paused_on: Those that certainly are: partition -> its servers. An empty tuple: the partition has no
            consuming segment, so no server has to stop.
        consuming_on: Those that are not yet paused: partition -> the servers that still consume it.
    """

    wanted: frozenset[int]
    paused_on: Mapping[int, tuple[str, ...]]
    consuming_on: Mapping[int, tuple[str, ...]]


def read_partition_pauses(store: PropertyStore, table: TableName, ideal: IdealState) -> PartitionPauses:
    """Return which partitions of a table are paused now, given its ideal state."""
    reports = read_reports(store)
    consuming = newest_by_partition(ideal.consuming)
    paused_on, consuming_on = {}, {}
    for partition in sorted(ideal.flags.paused_partitions):
        segment = consuming.get(partition)
        instances = ideal.consuming[segment.name] if segment else ()
        late = tuple(name for name in instances if not _is_paused(reports, name, table, segment))
        if late:
            consuming_on[partition] = late
        else:
            paused_on[partition] = instances
    return PartitionPauses(ideal.flags.paused_partitions, paused_on, consuming_on)


def _is_paused(
    reports: Mapping[str, PartitionReport], instance: str, table: TableName, segment: SegmentName | None
) -> bool:
    report = reports.get(instance)
    return bool(report and segment and report.paused.get(table, {}).get(segment.partition) == segment.name)
