"""The applied, pending and complete events of one partition on this server; no files, JVM or network."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events, VersionEnd
from server_hooks.upsert.events import EventColumns
from server_hooks.upsert.updates_log import LogSummary

__all__ = ["Complete", "ConsumingPart", "Partition", "Rows"]

_NONE = EventColumns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))


class Rows(Protocol):
    """Rows of a segment on this server."""

    @property
    def name(self) -> str:
        """The segment's name."""
        ...

    @property
    def first(self) -> int:
        """Offset of the first row that it has, or may have; -1 if it has none."""
        ...

    @property
    def last(self) -> int:
        """Offset of the last row that it has; -1 if it has none."""
        ...

    def apply(self, events: EventColumns) -> NDArray[np.bool_]:
        """Write events; returns which of them refer to rows that it has."""
        ...

    def copy_versions(
        self, offsets: NDArray[np.int64], froms: NDArray[np.int64], untils: NDArray[np.int64]
    ) -> None:
        """Write the versions from another copy of the segment."""
        ...

    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows' offsets, inserting and deleting versions."""
        ...

    def end(self) -> None:
        """Stop writing: the segment was removed, or replaced by another copy."""
        ...


class ConsumingPart(Rows, Protocol):
    """Rows of a consuming segment, which grow in number."""

    @property
    def sequence(self) -> int:
        """The segment's sequence number in its partition."""
        ...

    @property
    def position(self) -> int:
        """The offset that it will index next; all rows before it have been read here."""
        ...

    def refresh(self) -> None:
        """Read the offsets of rows that were indexed since the last call."""
        ...


class Complete(NamedTuple):
    """A version, and when it was complete at the coordinator, in milliseconds since the epoch."""

    version: int
    at_ms: int


@dataclass(frozen=True)
class _End:
    """A version that ended.

    Attributes:
        version: The version.
        at_ms: When it was complete at the coordinator.
        needed: The offset after the last row that events up to this version refer to.
    """

    version: int
    at_ms: int
    needed: int


class Partition:
    """One partition of a table; the caller ensures that one thread at a time uses it.

    Every event that was taken is either applied to all attached segments or pending. A pending event refers
    to a row that the consuming segment has not reached. An event about a row that is in no segment here is
    dropped; the log keeps it for a segment that is added later.

    A segment that was removed, or replaced by another copy, still gets events for a while: queries that
    acquired it before may wait for a version, or acquire it just before Pinot swaps the two.

    Attributes:
        counts: Whether this server is assigned the partition's newest rows. If so, a version is complete only
            when they are indexed.
    """

    def __init__(self, logged: LogSummary) -> None:
        """Create a partition without segments.

        Args:
            logged: The messages in the log from before the server was restarted.
        """
        self.counts = False
        self._sealed: dict[str, Rows] = {}
        self._consuming: dict[str, ConsumingPart] = {}
        # Of the segments that were consumed here, from the oldest that still is one, by sequence number.
        self._starts: dict[int, int] = {}
        self._former: list[Rows] = []
        self._long_former: list[Rows] = []
        self._pending = _NONE
        self._needed = logged.greatest_row + 1
        self._read = logged.version
        self._done = _End(NIL, 0, 0)
        self._ends: deque[_End] = deque()
        self._position = 0
        if logged.version != NIL:
            self._ends.append(_End(logged.version, logged.at_ms, self._needed))

    @property
    def read_version(self) -> int:
        """The newest version whose end was read; all its events are applied or pending."""
        return self._read

    @property
    def position(self) -> int:
        """The offset of the input topic up to which this server has all rows that it consumes."""
        return self._position

    @property
    def pending(self) -> int:
        """Number of events that wait for their rows."""
        return len(self._pending)

    @property
    def is_waiting(self) -> bool:
        """Whether an event, or a version that has ended, refers to rows that are not indexed yet."""
        is_behind = self.counts and self._ends and self._ends[-1].needed > self._position
        return bool(len(self._pending) or is_behind)

    @property
    def consuming_segment(self) -> str | None:
        """The newest consuming segment."""
        newest = max(self._consuming.values(), key=lambda each: each.sequence, default=None)
        return newest.name if newest else None

    @property
    def segments(self) -> frozenset[str]:
        """Names of the attached segments."""
        return frozenset(self._sealed) | frozenset(self._consuming)

    @property
    def sealed(self) -> tuple[Rows, ...]:
        """The attached segments that are not consuming."""
        return tuple(self._sealed.values())

    def rows_of(self, name: str) -> Rows | None:
        """Return the rows of an attached segment."""
        return self._sealed.get(name) or self._consuming.get(name)

    def take(self, messages: list[Events | VersionEnd]) -> None:
        """Apply messages of the updates topic, in their order."""
        self.refresh()  # most of the rows are indexed by now
        events = EventColumns.of(message for message in messages if isinstance(message, Events))
        for message in messages:
            if isinstance(message, VersionEnd):
                self._read = max(self._read, message.version)
                self._ends.append(_End(message.version, message.at_ms, self._needed))
            elif len(message.offsets):
                self._needed = max(self._needed, int(message.offsets.max()) + 1)
        if len(events):
            self._apply(events)

    def refresh(self) -> None:
        """Read the progress of the consuming segments, and apply the events that waited for their rows."""
        position = 0 if self._consuming else self.at_least(max(self._last_rows(), default=-1) + 1)
        is_whole = True  # whether the rows before the next consuming segment are all here
        for part in sorted(self._consuming.values(), key=lambda each: each.sequence):
            part.refresh()
            # A gap before a segment: the one before it lags, or is about to be replaced.
            if is_whole or part.first <= position:
                position = part.position
                # Pinot never replaces one whose build failed, but seals those after it, which are whole then.
                is_whole = position >= self._starts.get(part.sequence + 1, sys.maxsize)
        self._position = position
        if len(self._pending):
            pending, self._pending = self._pending, _NONE
            self._apply(pending)

    def at_least(self, position: int) -> int:
        """Record that all rows before an offset are here, as no segment consumes; returns the position."""
        self._position = max(self._position, position)
        return self._position

    def attach_sealed(self, rows: Rows) -> None:
        """Attach a sealed segment that has all events in the log, or that replaces another copy.

        The versions of the other copy, which was up to date, are copied.
        """
        before = self.rows_of(rows.name)
        if before is not None:
            rows.copy_versions(*before.values())
            self._former.append(before)
        if part := self._consuming.get(rows.name):
            part.refresh()  # it has stopped, so this reads its last rows
            part.apply(self._pending)
        rows.apply(self._pending)
        self._consuming.pop(rows.name, None)
        self._sealed[rows.name] = rows

    def attach_consuming(self, part: ConsumingPart, events: EventColumns) -> None:
        """Attach a consuming segment, with all events in the log about its first row and later ones."""
        self._consuming[part.name] = part
        oldest = min(each.sequence for each in self._consuming.values())
        self._starts[part.sequence] = part.first
        self._starts = {number: start for number, start in self._starts.items() if number >= oldest}
        part.refresh()
        self._pending = self._pending.plus(events)
        self.refresh()

    def detach(self, name: str) -> None:
        """Detach a segment that was removed."""
        for parts in (self._sealed, self._consuming):
            if rows := parts.pop(name, None):
                self._former.append(rows)
        if not self._consuming:
            self._pending = _NONE

    def forget_former(self) -> None:
        """Stop updating segments that were detached before the last call; called once a minute."""
        for rows in self._long_former:
            rows.end()
        self._former, self._long_former = [], self._former

    def complete(self) -> Complete:
        """Return the newest version whose events are all applied and, if it counts, all rows indexed."""
        if not self.counts:
            # Not kept: once the partition counts, the rows of this version may not be here.
            done = self._ends[-1] if self._ends else self._done
            return Complete(done.version, done.at_ms)
        while self._ends and self._ends[0].needed <= self._position:
            self._done = self._ends.popleft()
        return Complete(self._done.version, self._done.at_ms)

    def has_rows_of(self, version: int) -> bool:
        """Return whether all rows are indexed that events up to a version refer to."""
        needed = [end.needed for end in self._ends if end.version <= version]
        return not needed or needed[-1] <= self._position

    def settle(self, version: int) -> None:
        """Drop earlier versions, as the server is complete up to this one."""
        while len(self._ends) > 1 and self._ends[1].version <= version:
            self._ends.popleft()

    def _last_rows(self) -> Iterator[int]:
        return (each.last for each in self._sealed.values())

    def _apply(self, events: EventColumns) -> None:
        for former in (*self._former, *self._long_former):
            former.apply(events)
        applied = np.zeros(len(events), np.bool_)
        for part in self._consuming.values():
            applied |= part.apply(events)
        if self._sealed and not applied.all():
            applied |= self._apply_sealed(events, applied)
        if self._consuming:
            waiting = ~applied & (events.offsets >= self._position)
            self._pending = self._pending.plus(events.where(waiting))

    def _apply_sealed(self, events: EventColumns, done: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Apply events to sealed segments; their offsets do not overlap, so each event belongs to one."""
        parts = sorted(
            (each for each in self._sealed.values() if each.first >= 0), key=lambda each: each.first
        )
        firsts = np.array([each.first for each in parts], np.int64)
        applied = np.zeros(len(events), np.bool_)
        indexes = np.searchsorted(firsts, events.offsets, side="right") - 1
        open_indexes = np.where(done, -1, indexes)
        order = np.argsort(open_indexes, kind="stable")
        begins = np.searchsorted(open_indexes[order], np.arange(len(parts) + 1))
        for number in np.unique(open_indexes[open_indexes >= 0]):
            chosen = order[begins[number] : begins[number + 1]]
            applied[chosen] = parts[number].apply(events.where(chosen))
        return applied
