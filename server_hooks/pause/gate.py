"""Which consuming segments are paused at their start, and which are released."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from controller_client.common.names import SegmentName, TableName
from controller_client.helix.ideal_state import ConsumptionFlags

__all__ = ["Consumer", "Gate", "TableFlags", "Verdict"]


class Verdict(StrEnum):
    """What a consumer that asked is to do."""

    RELEASED = "RELEASED"
    """Consume, and do not ask again."""
    LET_THROUGH = "LET_THROUGH"
    """Go on with this batch: the segment stops before its first row, or it cannot be paused."""


@dataclass(frozen=True)
class TableFlags:
    """What was read of a table.

    Attributes:
        flags: What is paused.
        zxid: ZooKeeper's number of the transaction that made it so, or of a later one: of two readings, the
            one with the greater number counts.
    """

    flags: ConsumptionFlags
    zxid: int


class Consumer(Protocol):
    """The consumer of one segment, as the gate sees it; called in the consumer's thread."""

    def must_stop(self) -> bool:
        """Whether Pinot has asked it to stop: it will not index a row any more."""
        ...

    def must_commit(self) -> bool:
        """Whether it was asked to commit: it will do so before its first row."""
        ...

    def force_commit(self) -> None:
        """Have it commit."""
        ...


class Gate:
    """Decides for all segments of a server; its methods are called by consumer threads and by the hook's.

    A segment that was released stays so: only its commit ends that. So whether a partition is paused is known
    for sure: its consuming segment is not among the released ones, hence has not indexed a row.

    Args:
        read_flags: Reads from ZooKeeper what is paused of a table (with type); may raise.
        on_read_error: Called when that failed: the flags read last are taken then.
        is_unfinished: Whether a segment's partition was paused, but this segment not kept back yet, when the
            server came to it: then it has rows on another server, or had them here. It is released, to be
            sealed.
        recheck_s: How often a consumer that waits looks whether Pinot asked it to stop or to commit.
    """

    def __init__(
        self,
        read_flags: Callable[[TableName], TableFlags],
        on_read_error: Callable[[TableName, Exception], None],
        is_unfinished: Callable[[TableName, SegmentName], bool],
        *,
        recheck_s: float = 0.2,
    ) -> None:
        self._read_flags = read_flags
        self._on_read_error = on_read_error
        self._is_unfinished = is_unfinished
        self._recheck_s = recheck_s
        self._changed = threading.Condition()
        self._known: dict[TableName, TableFlags] = {}
        self._released: dict[TableName, dict[int, set[SegmentName]]] = {}

    def ask(self, table: TableName, segment: SegmentName, consumer: Consumer) -> Verdict:
        """Return when the segment's consumer may go on; called in its thread, before a batch is indexed.

        Args:
            table: Table with type.
            segment: The segment.
            consumer: Its consumer.
        """
        if self.is_released(table, segment):
            return Verdict.RELEASED
        # Read now, since the hook's thread may be behind: a pause that was written before is always seen.
        self._refresh(table)
        unfinished: bool | None = None
        while True:
            with self._changed:
                known = self._known.get(table)
                flags = known.flags if known else ConsumptionFlags(False, frozenset())
                if unfinished or segment.partition not in flags.paused_partitions:
                    self._release(table, segment)
                    return Verdict.RELEASED
            if unfinished is None:
                unfinished = self._is_unfinished(table, segment)
                if unfinished:
                    continue
            if consumer.must_stop() or consumer.must_commit():
                return Verdict.LET_THROUGH
            if flags.table_paused:
                # The table's pause wants every consuming segment sealed, this empty one as well; the message
                # for it may have come before the segment was there. The next round sees it.
                consumer.force_commit()
            with self._changed:
                if self._known.get(table) is known:
                    self._changed.wait(self._recheck_s)

    def update(self, table: TableName, read: TableFlags) -> None:
        """Take over what was read, unless something later is known, and let consumers look again."""
        with self._changed:
            known = self._known.get(table)
            if known is None or known.zxid < read.zxid:
                self._known[table] = read
                self._changed.notify_all()

    def forget(self, table: TableName) -> None:
        """The table is gone."""
        with self._changed:
            self._known.pop(table, None)
            self._released.pop(table, None)
            self._changed.notify_all()

    def is_released(self, table: TableName, segment: SegmentName) -> bool:
        """Whether a segment was released."""
        with self._changed:
            return segment in self._released.get(table, {}).get(segment.partition, ())

    def _release(self, table: TableName, segment: SegmentName) -> None:
        """Note a release; with it those before it in the partition are forgotten, as they are committed."""
        partitions = self._released.setdefault(table, {})
        before = partitions.get(segment.partition, set())
        later = {each for each in before if each.sequence > segment.sequence}
        partitions[segment.partition] = {segment, *later}

    def _refresh(self, table: TableName) -> None:
        try:
            read = self._read_flags(table)
        except Exception as error:  # noqa: BLE001  # whatever it is, the consumer goes by what is known
            self._on_read_error(table, error)
            return
        self.update(table, read)
