"""The backlog: tars whose commits finished without the store, their states, and the limits on them.

A limit never costs rows. This server and its peers serve a committed segment whether its tar is here or not;
discarding a tar only loses the fastest way to get a copy into the store. So the server keeps consuming and
serving, logs the overflow once, and leaves the oldest tars to `pinotctl deepstore repair`, which builds new
ones from the segments on the servers. This module only changes memory.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.clock import Clock
from controller_client.common.text import counted_text
from server_hooks.commit_upload.upload_state import (
    FINAL,
    LEVEL_CHANGES,
    UPLOAD_CHANGES,
    BacklogLevel,
    UploadState,
)

__all__ = ["Backlog", "BacklogEntry", "BacklogLimits", "KeptTar"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptTar:
    """A segment's tar, kept until it is uploaded.

    Attributes:
        file: Its path.
        raw_table: Table name without type.
        segment: Name of the segment.
        uri: Where in the store it is uploaded first: a name that no other upload uses.
        size_bytes: Its size.
        modified_ns: When it was built, nanoseconds since the epoch.
    """

    file: Path
    raw_table: str
    segment: str
    uri: str
    size_bytes: int
    modified_ns: int

    @property
    def content(self) -> tuple[str, str, int, int]:
        """A key that is equal for two copies of the same tar."""
        return self.raw_table, self.segment, self.size_bytes, self.modified_ns

    @property
    def built_s(self) -> float:
        """When the tar was built, seconds since the epoch."""
        return self.modified_ns / 1e9


@dataclass(frozen=True)
class BacklogEntry:
    """A tar in the backlog.

    Attributes:
        tar: The tar.
        state: Its state.
        uri: Where it is in the store, or where it is uploaded next.
        crc: Checksum of the segment in it; None if not computed yet.
        attempts: Failed attempts since it was built or uploaded.
        due_s: When the next attempt is due, in the clock's monotonic time.
    """

    tar: KeptTar
    state: UploadState
    uri: str
    crc: int | None = None
    attempts: int = 0
    due_s: float = 0.0


@dataclass(frozen=True)
class BacklogLimits:
    """How much may wait, and for how long.

    Attributes:
        max_bytes: Maximum size of all tars together.
        max_age_s: Maximum time since a tar was built.
        min_free_bytes: Minimum free space on the tars' disk.
        retry_s: Delay after the first failed attempt; doubled after each further one.
        max_retry_s: Maximum delay.
    """

    max_bytes: int = 10 << 30
    max_age_s: float = 24 * 3600.0
    min_free_bytes: int = 2 << 30
    retry_s: float = 5.0
    max_retry_s: float = 60.0


class Backlog:
    """The tars that wait for the store; thread-safe.

    Args:
        clock: The clock.
        limits: How much may wait.
        free_bytes: Returns the free space on the tars' disk.
    """

    def __init__(self, clock: Clock, limits: BacklogLimits, free_bytes: Callable[[], int]) -> None:
        self._clock = clock
        self._limits = limits
        self._free_bytes = free_bytes
        self._lock = threading.Lock()
        self._entries: dict[Path, BacklogEntry] = {}
        self._level = BacklogLevel.EMPTY
        self._discarded = 0

    @property
    def bytes(self) -> int:
        """Total size of the tars that wait."""
        with self._lock:
            return self._bytes()

    @property
    def segments(self) -> int:
        """Number of tars that wait."""
        with self._lock:
            return len(self._entries)

    @property
    def max_bytes(self) -> int:
        """Maximum number of bytes that may wait."""
        return self._limits.max_bytes

    @property
    def oldest_built_s(self) -> float | None:
        """When the oldest tar was built, seconds since the epoch; None if none waits."""
        with self._lock:
            return min((entry.tar.built_s for entry in self._entries.values()), default=None)

    @property
    def level(self) -> BacklogLevel:
        """The level of the backlog as a whole."""
        with self._lock:
            return self._level

    def add(self, tar: KeptTar, state: UploadState) -> bool:
        """Add a tar; returns False if one with the same content is already in the backlog.

        Args:
            tar: The tar.
            state: ``WAITING``, ``UPLOADING`` if a thread is uploading it, or ``UPLOADED``.
        """
        with self._lock:
            if self._find(tar) is not None:
                return False
            pause_s = self._limits.retry_s if state is UploadState.WAITING else 0.0
            due_s = self._clock.monotonic() + pause_s
            self._entries[tar.file] = BacklogEntry(tar, state, tar.uri, due_s=due_s)
            self._settle_level()
        return True

    def find(self, tar: KeptTar) -> BacklogEntry | None:
        """Return the entry with the same content as a tar, or None."""
        with self._lock:
            return self._find(tar)

    def due(self, state: UploadState) -> list[BacklogEntry]:
        """Return the entries in a state that are due, oldest first."""
        with self._lock:
            now_s = self._clock.monotonic()
            found = [each for each in self._entries.values() if each.state is state and each.due_s <= now_s]
        return sorted(found, key=lambda each: each.tar.modified_ns)

    def change(
        self, entry: BacklogEntry, state: UploadState, *, uri: str | None = None, crc: int | None = None
    ) -> BacklogEntry | None:
        """Change the state of an entry, unless it has changed since the caller read it.

        A final state removes the entry. An entry that is ``WAITING`` again is due after a delay that doubles
        each time.

        Args:
            entry: The entry as the caller read it.
            state: The new state.
            uri: Where the tar is in the store now; None leaves it unchanged.
            crc: Checksum of the segment; None leaves it unchanged.

        Returns:
            The new entry; None if the entry had already changed.

        Raises:
            ValueError: There is no such transition.
        """
        if state not in UPLOAD_CHANGES[entry.state]:
            raise ValueError(f"a tar cannot change from {entry.state} to {state}")
        is_again = state is UploadState.WAITING
        attempts = 0 if state is UploadState.UPLOADED else entry.attempts + is_again
        return self._put(entry, state, uri, crc, attempts=attempts, paused=is_again)

    def retry_later(
        self, entry: BacklogEntry, *, uri: str | None = None, crc: int | None = None
    ) -> BacklogEntry | None:
        """Keep the state of an entry and retry it later; arguments and result as for :meth:`change`."""
        return self._put(entry, entry.state, uri, crc, attempts=entry.attempts + 1, paused=True)

    def discard_excess(self) -> list[BacklogEntry]:
        """Discard the oldest tars until the limits are met, except those that a thread is uploading.

        Returns:
            The discarded entries, unchanged.
        """
        discarded = []
        free_bytes = self._free_bytes()
        with self._lock:
            size_bytes = self._bytes()
            oldest_first = sorted(self._entries.values(), key=lambda entry: entry.tar.modified_ns)
            for entry in oldest_first:
                is_old = self._clock.now() - entry.tar.built_s > self._limits.max_age_s
                is_much = size_bytes > self._limits.max_bytes or free_bytes < self._limits.min_free_bytes
                if entry.state is UploadState.UPLOADING or not (is_old or is_much):
                    continue
                del self._entries[entry.tar.file]
                size_bytes -= entry.tar.size_bytes
                free_bytes += entry.tar.size_bytes
                discarded.append(entry)
            if discarded:
                self._note_discarded(discarded)
        return discarded

    def _put(
        self,
        entry: BacklogEntry,
        state: UploadState,
        uri: str | None,
        crc: int | None,
        *,
        attempts: int,
        paused: bool,
    ) -> BacklogEntry | None:
        with self._lock:
            if self._entries.get(entry.tar.file) != entry:
                return None
            pause_s = min(self._limits.max_retry_s, self._limits.retry_s * 2.0 ** min(attempts - 1, 30))
            changed = replace(
                entry,
                state=state,
                uri=entry.uri if uri is None else uri,
                crc=entry.crc if crc is None else crc,
                attempts=attempts,
                due_s=self._clock.monotonic() + (pause_s if paused else 0.0),
            )
            if state in FINAL:
                del self._entries[entry.tar.file]
                if state is UploadState.DISCARDED:
                    self._discarded += 1
            else:
                self._entries[entry.tar.file] = changed
            self._settle_level()
            return changed

    def _find(self, tar: KeptTar) -> BacklogEntry | None:
        found = (each for each in self._entries.values() if each.tar.content == tar.content)
        return next(found, None)

    def _bytes(self) -> int:
        return sum(each.tar.size_bytes for each in self._entries.values())

    def _note_discarded(self, entries: Collection[BacklogEntry]) -> None:
        self._discarded += len(entries)
        if self._level is not BacklogLevel.OVERFLOWING:
            self._change_level(BacklogLevel.OVERFLOWING)
            logger.error(
                "the segment store has been unavailable for so long that the backlog of uploads has reached "
                "a limit (%s bytes, %.0f s, or less than %s bytes free on the disk): the oldest tars are "
                "discarded. No rows are lost, the servers still have the segments. When the store is back, "
                "run `pinotctl deepstore repair`",
                f"{self._limits.max_bytes:,}",
                self._limits.max_age_s,
                f"{self._limits.min_free_bytes:,}",
            )
        self._settle_level()

    def _settle_level(self) -> None:
        if self._entries and self._level is BacklogLevel.EMPTY:
            self._change_level(BacklogLevel.BEHIND)
            logger.warning(
                "commits continue without the segment store: their tars are kept and uploaded later"
            )
        elif not self._entries and self._level is not BacklogLevel.EMPTY:
            self._change_level(BacklogLevel.EMPTY)
            left = counted_text(self._discarded, "segment")
            logger.info("the backlog of uploads is empty; %s left to `pinotctl deepstore repair`", left)
            self._discarded = 0

    def _change_level(self, level: BacklogLevel) -> None:
        if level not in LEVEL_CHANGES[self._level]:
            raise ValueError(f"the backlog cannot change from {self._level} to {level}")
        self._level = level
