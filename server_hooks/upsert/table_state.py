"""The state of an upsert table on this server: its partitions, their logs, and the segments to update."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from controller_client.clock import Clock
from controller_client.common.parsing import whole_number
from controller_client.upsert.columns import NIL
from controller_client.upsert.record import PartitionProgress
from controller_client.upsert.update_message import Events
from server_hooks.upsert.checkpoint import BitmapCheckpoint, sign
from server_hooks.upsert.events import EventColumns
from server_hooks.upsert.partition import Complete, ConsumingPart, Partition
from server_hooks.upsert.sealed_rows import SealedRows
from server_hooks.upsert.updates_log import Message, UpdatesLog

__all__ = ["UpsertTableState"]

logger = logging.getLogger(__name__)

_RECHECK_S = 0.1


class UpsertTableState:
    """The state of a table; used by its thread, by Pinot's threads that add segments, and by the hook's.

    Args:
        folder: The folder of its logs and its checkpoint; created if missing.
        clock: The clock.

    Raises:
        FormatVersionError: A later release wrote the files in it.
        OSError: The files cannot be read or written.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._changed = threading.Condition()
        self._partitions: dict[int, Partition] = {}
        self._logs: dict[int, UpdatesLog] = {}
        self._signatures: dict[str, str] = {}
        self._mark = Complete(NIL, 0)
        self._may_lower = False
        self._is_whole = False
        self._waiting = 0
        self.is_missing_segments = False
        """Whether Pinot has a segment of the table that is not attached: then the mark does not advance."""
        self.lost_partitions: frozenset[int] = frozenset()
        """Partitions that are not read further, as messages were deleted that rows of the table need."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._checkpoint = BitmapCheckpoint(folder / "checkpoint.json")
        for path in folder.iterdir():
            number = whole_number(path.name)
            if number is not None and path.is_dir():
                self._open(number)

    def follow(self, partitions: Iterable[int]) -> None:
        """Set the partitions of the updates topic; before the first call there is no mark."""
        with self._changed:
            for number in partitions:
                self._open(number)
            self._is_whole = True

    def next_offsets(self) -> dict[int, int]:
        """Return the offset from which to read each partition of the updates topic."""
        with self._changed:
            return {number: log.summary().next or 0 for number, log in self._logs.items()}

    def take(self, number: int, messages: Sequence[Message]) -> None:
        """Write messages of a partition into its log, then apply them; see :meth:`sync`.

        Raises:
            OSError: The log cannot be written; nothing was applied, try again.
        """
        with self._changed:
            since = self._checkpoint.ends_from.get(number, 0)
            counted = [each for each in messages if isinstance(each[2], Events) or each[2].version >= since]
            # With the lock, so that a reader of the whole log misses nothing that is applied.
            self._logs[number].append(counted)
            self._partitions[number].take([message for _, _, message in counted])
            self._changed.notify_all()

    def count_ends_from(self, number: int, version: int) -> None:
        """Ignore the ends of versions before one: in this partition, they are not complete.

        Raises:
            OSError: That cannot be written to the disk; try again.
        """
        with self._changed:
            self._checkpoint.count_ends_from(number, version)

    def sync(self) -> None:
        """Flush the logs to the disk; call it before a complete version is reported to anybody.

        Raises:
            OSError: The logs cannot be flushed; try again.
        """
        for log in list(self._logs.values()):
            log.sync()

    def is_waiting(self) -> bool:
        """Return whether versions that have ended wait for rows, or a thread waits for a condition."""
        with self._changed:
            return self._waiting > 0 or any(each.is_waiting for each in self._partitions.values())

    def refresh(self, *, everywhere: bool = True) -> None:
        """Read the progress of the consuming segments.

        Args:
            everywhere: Also of partitions where no version or event waits for rows.
        """
        with self._changed:
            for partition in self._partitions.values():
                if everywhere or self._waiting or partition.is_waiting:
                    partition.refresh()
            self._changed.notify_all()

    def mark(self) -> Complete:
        """Return the newest version that is complete on this server; it goes back only where allowed."""
        with self._changed:
            if self._is_whole and self._partitions and not self.is_missing_segments:
                mark = min(partition.complete() for partition in self._partitions.values())
                if mark.version >= self._mark.version or self._may_lower:
                    self._mark, self._may_lower = mark, False
                    for partition in self._partitions.values():
                        partition.settle(mark.version)
            return self._mark

    def allow_lower_mark(self) -> None:
        """Allow the mark to go back once, after a wait for a complete version timed out."""
        with self._changed:
            self._may_lower = True

    def progress(self) -> Mapping[int, PartitionProgress]:
        """Return the progress of each partition."""
        with self._changed:
            return {
                number: PartitionProgress(each.consuming_segment, each.position, each.read_version)
                for number, each in sorted(self._partitions.items())
            }

    def pending(self) -> int:
        """Return the number of events that wait for their rows."""
        with self._changed:
            return sum(each.pending for each in self._partitions.values())

    def segments(self) -> frozenset[str]:
        """Return the names of the attached segments."""
        with self._changed:
            return frozenset().union(*(each.segments for each in self._partitions.values()))

    def attach_sealed(self, number: int, rows: SealedRows) -> None:
        """Bring a sealed segment up to date and keep it so; called before queries see it.

        Args:
            number: Its partition.
            rows: Its rows.

        Raises:
            OSError: The log cannot be read, or the segment cannot be written.
        """
        since = self._checkpoint.since(rows.name, rows.folder)
        with self._changed:
            partition, log = self._open(number)
            before, upto = partition.rows_of(rows.name), log.summary().next or 0
            copied = [each.copy() for each in before.values()] if before else None
        # The long part runs without the lock; events that arrive meanwhile are in the log or the other copy.
        if copied is not None:
            rows.copy_versions(*copied)
        else:
            _replay(log, rows, since)
            since = max(since, upto)
        mine = sign(rows.folder)
        with self._changed:
            if partition.rows_of(rows.name) is None:
                _replay(log, rows, since)
            partition.attach_sealed(rows)
            self._signatures[rows.name] = mine
            self._changed.notify_all()

    def attach_consuming(self, number: int, part: ConsumingPart) -> None:
        """Keep a consuming segment up to date; does nothing if it is already attached.

        Raises:
            OSError: The log cannot be read.
        """
        with self._changed:
            partition, log = self._open(number)
            if partition.rows_of(part.name) is not None:
                return
            upto = log.summary().next or 0
        # Here too the long part runs without the lock; events that arrive meanwhile are in the log.
        events = _events_from(log, part.first)
        with self._changed:
            if partition.rows_of(part.name) is None:
                later = _events_from(log, part.first, since=upto)
                partition.attach_consuming(part, events.plus(later))
                self._changed.notify_all()

    def detach(self, names: Collection[str]) -> None:
        """Detach segments that were removed."""
        with self._changed:
            for name in names:
                self._signatures.pop(name, None)
                for partition in self._partitions.values():
                    partition.detach(name)

    def count(self, number: int, *, version: int = NIL) -> bool:
        """From now on, require a partition's newest rows to be indexed here before a version is complete.

        Args:
            number: The partition.
            version: Do so only if the rows are indexed that events up to this version and up to the mark
                refer to.

        Returns:
            Whether the partition counts now.
        """
        with self._changed:
            partition, _ = self._open(number)
            if not partition.counts and partition.has_rows_of(max(version, self._mark.version)):
                partition.counts = True
            return partition.counts

    def count_now(self, number: int) -> None:
        """Do the same as :meth:`count`, without a condition: the mark may go back to where the rows are."""
        with self._changed:
            partition, _ = self._open(number)
            if not partition.counts:
                partition.counts = self._may_lower = True

    def settle_counting(self, newest: Mapping[int, int | None]) -> None:
        """Set the partitions whose newest segments are assigned to this server.

        Args:
            newest: Each partition, with the end offset of its newest segment if that does not consume.
        """
        with self._changed:
            for number, partition in self._partitions.items():
                if partition.consuming_segment is not None:
                    continue
                if number not in newest:
                    partition.counts = False
                elif (end := newest[number]) is not None:
                    partition.at_least(end)

    def wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for a condition; returns whether it holds.

        Args:
            condition: Called whenever something changed, without the lock.
            timeout_s: Maximum wait.
        """
        deadline = self._clock.monotonic() + timeout_s
        with self._changed:
            self._waiting += 1
        try:
            while not condition():
                if self._clock.monotonic() >= deadline:
                    return False
                with self._changed:
                    self._changed.wait(_RECHECK_S)
        finally:
            with self._changed:
                self._waiting -= 1
        return True

    def flush(self) -> None:
        """Flush the sealed segments to the disk, and save the checkpoint; called once a minute.

        Raises:
            OSError: A file cannot be written.
        """
        with self._changed:
            entries = [
                (rows, self._signatures[rows.name], self._logs[number].summary().next or 0)
                for number, partition in self._partitions.items()
                for rows in partition.sealed
                if isinstance(rows, SealedRows)
            ]
        for rows, _, _ in entries:
            if rows.is_dirty:
                rows.flush()
        with self._changed:
            for partition in self._partitions.values():
                partition.forget_former()
        self._checkpoint.save({rows.name: (mine, following) for rows, mine, following in entries})

    def drop_rows_before(self, floors: Mapping[int, int]) -> None:
        """Delete log files that only concern rows that the table no longer has.

        Args:
            floors: The offset of the first row that it can have, by partition.

        Raises:
            OSError: A file cannot be deleted.
        """
        for number, log in list(self._logs.items()):
            log.drop_rows_before(floors.get(number, 0))

    def _open(self, number: int) -> tuple[Partition, UpdatesLog]:
        if number not in self._partitions:
            log = UpdatesLog(self._folder / str(number))
            self._logs[number] = log
            self._partitions[number] = Partition(log.summary())
        return self._partitions[number], self._logs[number]


def _events_from(log: UpdatesLog, row: int, *, since: int = 0) -> EventColumns:
    """Return the events in a log, from an offset on, about rows from a given one on."""
    events = EventColumns.of(
        message for _, message in log.read(since, row=row) if isinstance(message, Events)
    )
    return events.where(events.offsets >= row)


def _replay(log: UpdatesLog, rows: SealedRows, since: int) -> None:
    if rows.first < 0:
        return
    for _, message in log.read(since, row=rows.first):
        if isinstance(message, Events):
            events = EventColumns.of([message])
            mine = (events.offsets >= rows.first) & (events.offsets <= rows.last)
            if np.any(mine):
                rows.apply(events.where(mine))
