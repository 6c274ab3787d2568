"""Partitions that did not resume where their committed rows end: rows are lost, skipped or read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.names import SegmentName
from controller_client.common.parsing import whole_number
from controller_client.common.text import counted_text
from controller_client.consumption.table_control import TableControl
from controller_client.helix.stream_segments import PartitionSegments, read_segment
from controller_client.zookeeper import segments_path

__all__ = ["OffsetJump", "find_jumps"]


@dataclass(frozen=True)
class OffsetJump:
    """A partition that resumed at another offset than expected.

    Attributes:
        partition: Partition group.
        expected: Where its committed rows end.
        started: Where it resumed.
    """

    partition: int
    expected: str
    started: str

    @property
    def missing(self) -> int | None:
        """Rows that were not read; negative for rows read again; None if the offsets are not numbers."""
        expected, started = whole_number(self.expected), whole_number(self.started)
        return None if expected is None or started is None else started - expected

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "partition": self.partition,
            "expected_offset": self.expected,
            "started_offset": self.started,
            "missing_rows": self.missing,
        }

    def __str__(self) -> str:
        missing = self.missing
        if missing is None:
            return f"partition {self.partition} resumed at {self.started} instead of {self.expected}"
        first, end = sorted((int(self.expected), int(self.started)))
        what = "not in the table" if missing > 0 else "read again"
        return (
            f"partition {self.partition} resumed at offset {self.started}; "
            f"{counted_text(end - first, 'offset')} {what}: {first} to {end - 1}"
        )


def find_jumps(control: TableControl, before: Mapping[int, PartitionSegments]) -> tuple[OffsetJump, ...]:
    """Compare the first segment of each partition since a pause with the last one before it.

    Args:
        control: The table.
        before: The partitions as they were when nothing consumed; others are ignored.
    """
    by_partition: dict[int, list[SegmentName]] = {}
    names = control.store.children(segments_path(control.table))
    for segment in filter(None, map(SegmentName.parse, names)):
        by_partition.setdefault(segment.partition, []).append(segment)
    jumps = []
    for partition, segments in before.items():
        expected = segments.next_offset
        newest = segments.newest
        if expected is None or not (newest.ended or newest.is_placeholder):
            continue
        later = sorted(
            segment
            for segment in by_partition.get(partition, ())
            if segment.sequence > newest.segment.sequence
        )
        records = filter(None, (read_segment(control.store, control.table, segment) for segment in later))
        first = next((record for record in records if not record.is_placeholder), None)
        if first is not None and first.start_offset not in (None, expected):
            jumps.append(OffsetJump(partition, expected, str(first.start_offset)))
    return tuple(jumps)
