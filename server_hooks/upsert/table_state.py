"""An upsert table on this server: its partitions, their logs, and the segments that events go into."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from controller_client.clock import Clock
from controller_client.upsert.columns import NIL
from controller_client.upsert.record import PartitionProgress
from controller_client.upsert.update_message import Events
from server_hooks.upsert.checkpoint import Checkpoint, sign
from server_hooks.upsert.events import EventColumns
from server_hooks.upsert.partition import Complete, ConsumingPart, Partition
from server_hooks.upsert.sealed_rows import SealedRows
from server_hooks.upsert.updates_log import Message, UpdatesLog

__all__ = ["TableState"]

logger = logging.getLogger(__name__)

_RECHECK_S = 0.1


class TableState:
    """Used by the table's own thread, by threads of Pinot's that bring segments, and by the hook's.

    Args:
        folder: Its logs and its checkpoint; made where it is not there.
        clock: Time.

    Raises:
        FormatVersionError: A later release wrote what is there.
        OSError: The disk refuses.
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
        """Whether Pinot has a segment of the table that is not attached: then the mark stands still."""
        folder.mkdir(parents=True, exist_ok=True)
        self._checkpoint = Checkpoint(folder / "checkpoint.json")
        for path in folder.iterdir():
            if path.is_dir() and path.name.isdecimal():
                self._open(int(path.name))

    def follow(self, partitions: Iterable[int]) -> None:
        """The updates topic has these partitions; before the first call there is no mark."""
        with self._changed:
            for number in partitions:
                self._open(number)
            self._is_whole = True

    def next_offsets(self) -> dict[int, int]:
        """From where each partition of the updates topic is to be read."""
        with self._changed:
            return {number: log.summary().next or 0 for number, log in self._logs.items()}

    def take(self, number: int, messages: Sequence[Message]) -> None:
        """Write messages of a partition into its log, then apply them; see :meth:`sync`.

        Raises:
            OSError: The disk refuses; nothing was applied, try again.
        """
        with self._changed:
            # Under the lock, so that who reads the log to its end misses nothing that is applied.
            self._logs[number].append(messages)
            self._partitions[number].take([message for _, _, message in messages])
            self._changed.notify_all()

    def sync(self) -> None:
        """Have the disk hold what was taken: before a version that is complete is told to anybody.

        Raises:
            OSError: The disk refuses; try again.
        """
        for log in list(self._logs.values()):
            log.sync()

    def is_waiting(self) -> bool:
        """Whether rows are to come for versions that have ended, or somebody waits for something."""
        with self._changed:
            return self._waiting > 0 or any(each.is_waiting for each in self._partitions.values())

    def refresh(self, *, everywhere: bool = True) -> None:
        """Look how far the consuming segments are.

        Args:
            everywhere: Also in partitions where no version or event waits for rows.
        """
        with self._changed:
            for partition in self._partitions.values():
                if everywhere or self._waiting or partition.is_waiting:
                    partition.refresh()
            self._changed.notify_all()

    def mark(self) -> Complete:
        """The newest version that is complete on this server; it does not go back."""
        with self._changed:
            if self._is_whole and self._partitions and not self.is_missing_segments:
                found = min(each.complete() for each in self._partitions.values())
                if found.version >= self._mark.version or self._may_lower:
                    self._mark, self._may_lower = found, False
                    for each in self._partitions.values():
                        each.settle(found.version)
            return self._mark

    def allow_lower_mark(self) -> None:
        """Let the mark go back: something was let through before it was complete."""
        with self._changed:
            self._may_lower = True

    def progress(self) -> Mapping[int, PartitionProgress]:
        """How far each partition is."""
        with self._changed:
            return {
                number: PartitionProgress(each.consuming_segment, each.position, each.read_version)
                for number, each in sorted(self._partitions.items())
            }

    def pending(self) -> int:
        """How many events wait for their rows."""
        with self._changed:
            return sum(each.pending for each in self._partitions.values())

    def segments(self) -> frozenset[str]:
        """Names of the attached segments."""
        with self._changed:
            return frozenset().union(*(each.segments for each in self._partitions.values()))

    def attach_sealed(self, number: int, rows: SealedRows) -> None:
        """Bring a sealed segment up to the present, and keep it there; called before queries see it.

        Args:
            number: Its partition.
            rows: Its rows.

        Raises:
            OSError: The disk refuses.
        """
        since = self._checkpoint.since(rows.name, rows.folder)
        with self._changed:
            partition, log = self._open(number)
            before, upto = partition.rows_of(rows.name), log.summary().next or 0
            taken_over = [each.copy() for each in before.values()] if before else None
        # The long way goes without the lock; what comes meanwhile is in the log, or in the other copy.
        if taken_over is not None:
            rows.take_over(*taken_over)
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
        """Keep a consuming segment up to date; one that is attached stays as it is.

        Raises:
            OSError: The disk refuses.
        """
        with self._changed:
            partition, log = self._open(number)
            if partition.rows_of(part.name) is not None:
                return
            upto = log.summary().next or 0
        # The long way goes without the lock here too; what comes meanwhile is in the log.
        events = _events_from(log, part.first)
        with self._changed:
            if partition.rows_of(part.name) is None:
                later = _events_from(log, part.first, since=upto)
                partition.attach_consuming(part, events.plus(later))
                self._changed.notify_all()

    def detach(self, names: Collection[str]) -> None:
        """Forget segments that are gone."""
        with self._changed:
            for name in names:
                self._signatures.pop(name, None)
                for partition in self._partitions.values():
                    partition.detach(name)

    def count(self, number: int, *, version: int = NIL) -> bool:
        """From now on versions are complete when a partition's newest rows are indexed here.

        Args:
            number: The partition.
            version: Only if the rows are indexed that events up to this version, and up to the mark, are
                about.

        Returns:
            Whether it counts now.
        """
        with self._changed:
            partition, _ = self._open(number)
            if not partition.counts and partition.has_rows_of(max(version, self._mark.version)):
                partition.counts = True
            return partition.counts

    def count_now(self, number: int) -> None:
        """As :meth:`count`, without a condition."""
        with self._changed:
            self._open(number)[0].counts = True

    def settle_counting(self, newest: Mapping[int, int | None]) -> None:
        """Take over which partitions' newest segments this server is to have.

        Args:
            newest: Each partition, with the end of its newest segment where that does not consume.
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
        """Wait until something is so; returns whether it is.

        Args:
            condition: Asked whenever something changed, with no lock held.
            timeout_s: How long at most.
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
        """Have the disk hold what was written into sealed segments, and note up to where; once in a minute.

        Raises:
            OSError: The disk refuses.
        """
        with self._changed:
            found = [
                (rows, self._signatures[rows.name], self._logs[number].summary().next or 0)
                for number, partition in self._partitions.items()
                for rows in partition.sealed
                if isinstance(rows, SealedRows)
            ]
        for rows, _, _ in found:
            if rows.is_dirty:
                rows.flush()
        with self._changed:
            for partition in self._partitions.values():
                partition.forget_former()
        self._checkpoint.save({rows.name: (mine, following) for rows, mine, following in found})

    def drop_before(self, time_s: float) -> None:
        """Delete logs that were last written before a time, in seconds since 1970.

        Raises:
            OSError: The disk refuses.
        """
        for log in list(self._logs.values()):
            log.drop_before(time_s)

    def _open(self, number: int) -> tuple[Partition, UpdatesLog]:
        if number not in self._partitions:
            log = UpdatesLog(self._folder / str(number))
            self._logs[number] = log
            self._partitions[number] = Partition(log.summary())
        return self._partitions[number], self._logs[number]


def _events_from(log: UpdatesLog, row: int, *, since: int = 0) -> EventColumns:
    """The events in a log, from an offset of it on, about rows from one on."""
    events = EventColumns.of(
        message for _, message in log.read(since, row=row) if isinstance(message, Events)
    )
    return events.where(events.offsets >= row)


def _replay(log: UpdatesLog, rows: SealedRows, since: int) -> None:
    if rows.first < 0:
        return
    for _, message in log.read(since):
        if isinstance(message, Events):
            events = EventColumns.of([message])
            mine = (events.offsets >= rows.first) & (events.offsets <= rows.last)
            if np.any(mine):
                rows.apply(events.where(mine))
