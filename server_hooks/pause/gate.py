"""Decides which consuming segments are paused at their start, and which are released."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from controller_client.common.names import SegmentName, TableName
from controller_client.errors import NotFoundError
from controller_client.helix.ideal_state import ConsumptionFlags

__all__ = ["NOTHING_PAUSED", "Consumer", "Gate", "TableFlags"]

NOTHING_PAUSED = ConsumptionFlags(False, frozenset())


@dataclass(frozen=True)
class TableFlags:
    """The flags that were read of a table.

    Attributes:
        flags: What is paused.
        zxid: ZooKeeper's number of the transaction that set the flags, or of a later one. Of two readings,
            the one with the greater number counts.
    """

    flags: ConsumptionFlags
    zxid: int


class Consumer(Protocol):
    """The consumer of one segment, as the gate sees it; called in the consumer's thread."""

    def must_stop(self) -> bool:
        """Return whether Pinot has asked it to stop: it will not index any more rows."""
        ...

    def must_commit(self) -> bool:
        """Return whether it was asked to commit: it will do so before its first row."""
        ...

    def seal(self) -> None:
        """Make it commit if Pinot allows that in this table."""
        ...

    def force_commit(self) -> None:
        """Make it commit."""
        ...


class Gate:
    """Decides for all segments of a server; called by consumer threads and by the hook's thread.

    A released segment stays released until its commit. So it is certain whether a partition is paused: its
    consuming segment is not among the released ones, and therefore has not indexed a row.

    A consumer waits only while its partition is paused, its table exists, and Pinot has not asked it to stop.
    Pinot asks before it removes a segment from the server, and then waits for the consumer's thread.

    Args:
        read_flags: Reads from ZooKeeper what is paused of a table (with type); may raise, ``NotFoundError``
            if there is no such table.
        on_read_error: Called when that failed; the partitions that were read last as paused count then.
        is_unfinished: Returns whether a segment's partition or table was paused, but the segment itself was
            not yet paused, when the server first saw it. Then it has rows on another server, or had them
            here. It is released so that it can be sealed.
        recheck_s: How often a waiting consumer checks whether Pinot asked it to stop or to commit.
    """

    def __init__(
        self,
        read_flags: Callable[[TableName], TableFlags],
        on_read_error: Callable[[TableName, Exception], None],
        is_unfinished: Callable[[TableName, SegmentName], bool],
        *,
        recheck_s: float,
    ) -> None:
        self._read_flags = read_flags
        self._on_read_error = on_read_error
        self._is_unfinished = is_unfinished
        self._recheck_s = recheck_s
        self._changed = threading.Condition()
        self._flags: dict[TableName, TableFlags] = {}
        self._released: dict[TableName, dict[int, set[SegmentName]]] = {}

    def hold(self, table: TableName, segment: SegmentName, consumer: Consumer) -> None:
        """Block until a segment's consumer may continue; called in its thread before it consumes.

        Then the segment is released, or its consumer stops or commits before its first row.

        Args:
            table: Table with type.
            segment: The segment.
            consumer: Its consumer.
        """
        if self.is_released(table, segment):
            return
        try:
            self._wait(table, segment, consumer)
        except BaseException:
            with self._changed:
                self._release(table, segment)  # it consumes now, whatever is paused
            raise

    def update(self, table: TableName, read: TableFlags) -> None:
        """Store the flags that were read, unless they are outdated, and wake the waiting consumers."""
        with self._changed:
            last = self._flags.get(table)
            if last is None or last.zxid < read.zxid:
                self._flags[table] = read
                self._changed.notify_all()

    def forget(self, table: TableName) -> None:
        """Forget a table that no longer exists."""
        with self._changed:
            self._flags.pop(table, None)
            self._released.pop(table, None)
            self._changed.notify_all()

    def is_released(self, table: TableName, segment: SegmentName) -> bool:
        """Return whether a segment was released."""
        with self._changed:
            return segment in self._released.get(table, {}).get(segment.partition, ())

    def _wait(self, table: TableName, segment: SegmentName, consumer: Consumer) -> None:
        is_unfinished: bool | None = None
        # Read now, since the hook's thread may lag: this sees every pause that was written before.
        if self._refresh(table):
            is_unfinished = self._is_unfinished(table, segment)
            if not is_unfinished:
                # A pause of the table seals every consuming segment, but its message may have arrived before
                # this one existed.
                consumer.seal()
        while not (consumer.must_stop() or consumer.must_commit()):
            with self._changed:
                last = self._flags.get(table)
                flags = last.flags if last else NOTHING_PAUSED
                if is_unfinished or segment.partition not in flags.paused_partitions:
                    self._release(table, segment)
                    return
            if is_unfinished is None:
                is_unfinished = self._is_unfinished(table, segment)
                continue
            if flags.table_paused:
                consumer.force_commit()  # this empty one too, whatever Pinot allows; the next round sees it
            with self._changed:
                if self._flags.get(table) is last:
                    self._changed.wait(self._recheck_s)

    def _release(self, table: TableName, segment: SegmentName) -> None:
        """Record a release, and forget earlier segments of the partition, as they are committed."""
        partitions = self._released.setdefault(table, {})
        before = partitions.get(segment.partition, set())
        later = {each for each in before if each.sequence > segment.sequence}
        partitions[segment.partition] = {segment, *later}

    def _refresh(self, table: TableName) -> bool:
        """Read what is paused of a table; returns whether the whole table is, as far as could be read."""
        try:
            read = self._read_flags(table)
        except NotFoundError:
            self.forget(table)
            return False
        except Exception as error:  # noqa: BLE001  # after any error the last flags count
            self._on_read_error(table, error)
            return False
        self.update(table, read)
        return read.flags.table_paused
