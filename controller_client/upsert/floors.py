"""The lowest offsets that a table can still have rows of."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.clock import Clock
from controller_client.common.names import SegmentName, TableName
from controller_client.common.parsing import whole_number
from controller_client.errors import NotFoundError
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.helix.stream_segments import StreamSegment, read_segment
from controller_client.zookeeper import PropertyStore

__all__ = ["Floors", "oldest_segments", "read_floors"]

_EVERY_S = 60.0


def oldest_segments(store: PropertyStore, table: TableName) -> Mapping[int, StreamSegment]:
    """Return the record of the oldest segment of each partition.

    Empty if unknown: the table does not exist, or has segments that do not come from its stream.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    try:
        names = list(read_ideal_state(store, table).segments)
    except NotFoundError:
        return {}
    oldest: dict[int, SegmentName] = {}
    for name in names:
        segment = SegmentName.parse(name)
        if segment is None:
            return {}
        found = oldest.setdefault(segment.partition, segment)
        if segment.sequence < found.sequence:
            oldest[segment.partition] = segment
    records = {partition: read_segment(store, table, segment) for partition, segment in oldest.items()}
    return {partition: record for partition, record in records.items() if record is not None}


def read_floors(store: PropertyStore, table: TableName) -> Mapping[int, int]:
    """Return, by partition, the first offset of its oldest segment; the table has no rows before it.

    Unknown as for :func:`oldest_segments`, which also has the errors.
    """
    return {
        partition: offset
        for partition, record in oldest_segments(store, table).items()
        if (offset := whole_number(record.start_offset)) is not None
    }


class Floors:
    """Floors that take effect some time after they were read: servers keep a deleted segment for a moment.

    Args:
        store: The cluster's ZooKeeper.
        table: Name with type.
        clock: Time.
    """

    def __init__(self, store: PropertyStore, table: TableName, clock: Clock) -> None:
        self._store = store
        self._table = table
        self._clock = clock
        self._read_s: float | None = None
        self._next: Mapping[int, int] = {}

    def after(self, floors: tuple[int, ...]) -> tuple[int, ...]:
        """Return the floors in effect now, by partition.

        Args:
            floors: The previous floors; a floor never decreases.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        now_s = self._clock.monotonic()
        if self._read_s is not None and now_s - self._read_s < _EVERY_S:
            return floors
        self._read_s = now_s
        count, self._next = self._next, read_floors(self._store, self._table)
        if not count:
            return floors
        length = max(len(floors), max(count) + 1)
        before = (*floors, *([0] * (length - len(floors))))
        return tuple(max(old, count.get(partition, 0)) for partition, old in enumerate(before))
