"""The tars whose commits went on without the store: what each is at, how much they are, and what is too much.

A bound costs no row. A committed segment is served by this server and its peers, whether it has a tar here
or not; what is given up is only the fastest way to its copy in the store. So the server goes on to consume
and to serve, says so once, and leaves the oldest tars to the repair, which makes new ones of what servers
have. Nothing but memory is touched in here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.clock import Clock
from controller_client.common.counted_text import counted_text
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
    """A segment's tar that is kept until it is uploaded.

    Attributes:
        file: Where it is kept.
        raw_table: Table name without type.
        segment: Its name.
        uri: Where in the store it goes first: a name that no other upload has.
        size_bytes: Of the tar.
        modified_ns: When it was built, epoch nanoseconds.
    """

    file: Path
    raw_table: str
    segment: str
    uri: str
    size_bytes: int
    modified_ns: int

    @property
    def content(self) -> tuple[str, str, int, int]:
        """Equal for two files of the same tar."""
        return self.raw_table, self.segment, self.size_bytes, self.modified_ns

    @property
    def built_s(self) -> float:
        """When it was built, seconds since the epoch."""
        return self.modified_ns / 1e9


@dataclass(frozen=True)
class BacklogEntry:
    """A tar in the backlog.

    Attributes:
        tar: The tar.
        state: What it is at.
        uri: Where it is in the store, or goes next.
        crc: Check sum of the segment in it; None: not computed yet.
        attempts: Attempts that led nowhere, since it was built or uploaded.
        due_s: When the next one is due, by the clock's monotonic time.
    """

    tar: KeptTar
    state: UploadState
    uri: str
    crc: int | None = None
    attempts: int = 0
    due_s: float = 0.0


@dataclass(frozen=True)
class BacklogLimits:
    """How much may wait, and how long.

    Attributes:
        max_bytes: Of all tars together.
        max_age_s: Since a tar was built.
        min_free_bytes: Left free on the disk that they are on.
        retry_s: From a first attempt that failed to the next; doubled each time.
        max_retry_s: The most that it becomes.
    """

    max_bytes: int = 10 << 30
    max_age_s: float = 24 * 3600.0
    min_free_bytes: int = 2 << 30
    retry_s: float = 5.0
    max_retry_s: float = 60.0


class Backlog:
    """Threads share it.

    Args:
        clock: Time.
        limits: How much may wait.
        free_bytes: What is free on the disk of the tars.
    """

    def __init__(self, clock: Clock, limits: BacklogLimits, free_bytes: Callable[[], int]) -> None:
        self._clock = clock
        self._limits = limits
        self._free_bytes = free_bytes
        self._lock = threading.Lock()
        self._entries: dict[Path, BacklogEntry] = {}
        self._level = BacklogLevel.EMPTY
        self._given_up = 0

    @property
    def bytes(self) -> int:
        """Size of all tars that wait."""
        with self._lock:
            return self._bytes()

    @property
    def segments(self) -> int:
        """How many tars wait."""
        with self._lock:
            return len(self._entries)

    @property
    def max_bytes(self) -> int:
        """How many bytes may wait."""
        return self._limits.max_bytes

    @property
    def oldest_built_s(self) -> float | None:
        """When the oldest tar was built, seconds since the epoch; None where none waits."""
        with self._lock:
            return min((entry.tar.built_s for entry in self._entries.values()), default=None)

    @property
    def level(self) -> BacklogLevel:
        """What it is at as a whole."""
        with self._lock:
            return self._level

    def add(self, tar: KeptTar, state: UploadState) -> bool:
        """Take a tar in; False: one with the same content is there already.

        Args:
            tar: The tar.
            state: ``WAITING``, ``UPLOADING`` where a thread is at it, or ``UPLOADED``.
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
        """Return what has the content of a tar; None: nothing."""
        with self._lock:
            return self._find(tar)

    def due(self, state: UploadState) -> list[BacklogEntry]:
        """Return what is at a state and due, the oldest first."""
        with self._lock:
            now_s = self._clock.monotonic()
            found = [each for each in self._entries.values() if each.state is state and each.due_s <= now_s]
        return sorted(found, key=lambda each: each.tar.modified_ns)

    def change(
        self, entry: BacklogEntry, state: UploadState, *, uri: str | None = None, crc: int | None = None
    ) -> BacklogEntry | None:
        """Change what a tar is at, if it is what the caller has seen.

        A final state takes it out. What is ``WAITING`` again is due after a pause that doubles each time.

        Args:
            entry: As the caller has seen it.
            state: The new one.
            uri: Where it is in the store now; None: no change.
            crc: Its check sum; None: no change.

        Returns:
            What is there now; None: it was another already.

        Raises:
            ValueError: There is no such transition.
        """
        if state not in UPLOAD_CHANGES[entry.state]:
            raise ValueError(f"a tar that is {entry.state} cannot become {state}")
        is_again = state is UploadState.WAITING
        attempts = 0 if state is UploadState.UPLOADED else entry.attempts + is_again
        return self._put(entry, state, uri, crc, attempts=attempts, paused=is_again)

    def again(
        self, entry: BacklogEntry, *, uri: str | None = None, crc: int | None = None
    ) -> BacklogEntry | None:
        """Leave a tar at its state, and try again later; arguments and answer as of :meth:`change`."""
        return self._put(entry, entry.state, uri, crc, attempts=entry.attempts + 1, paused=True)

    def over_bounds(self) -> list[BacklogEntry]:
        """Give up the oldest until the bounds hold; what a thread uploads stays.

        Returns:
            What is given up, as it was.
        """
        given_up = []
        free_bytes = self._free_bytes()
        with self._lock:
            size_bytes = self._bytes()
            oldest_first = sorted(self._entries.values(), key=lambda each: each.tar.modified_ns)
            for each in oldest_first:
                is_old = self._clock.now() - each.tar.built_s > self._limits.max_age_s
                is_much = size_bytes > self._limits.max_bytes or free_bytes < self._limits.min_free_bytes
                if each.state is UploadState.UPLOADING or not (is_old or is_much):
                    continue
                del self._entries[each.tar.file]
                size_bytes -= each.tar.size_bytes
                free_bytes += each.tar.size_bytes
                given_up.append(each)
            if given_up:
                self._give_up(given_up)
        return given_up

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
                if state is UploadState.GIVEN_UP:
                    self._given_up += 1
            else:
                self._entries[entry.tar.file] = changed
            self._settle_level()
            return changed

    def _find(self, tar: KeptTar) -> BacklogEntry | None:
        found = (each for each in self._entries.values() if each.tar.content == tar.content)
        return next(found, None)

    def _bytes(self) -> int:
        return sum(each.tar.size_bytes for each in self._entries.values())

    def _give_up(self, entries: Collection[BacklogEntry]) -> None:
        self._given_up += len(entries)
        if self._level is not BacklogLevel.OVERFLOWING:
            self._change_level(BacklogLevel.OVERFLOWING)
            logger.error(
                "the store has been away for so long that tars are left to the repair: more than %s bytes "
                "wait, or for more than %.0f s, or less than %s bytes of the disk are free. No row is lost, "
                "servers have the segments; run `pinotctl deepstore repair` when the store is back",
                f"{self._limits.max_bytes:,}",
                self._limits.max_age_s,
                f"{self._limits.min_free_bytes:,}",
            )
        self._settle_level()

    def _settle_level(self) -> None:
        if self._entries and self._level is BacklogLevel.EMPTY:
            self._change_level(BacklogLevel.BEHIND)
            logger.warning("commits went on without the store: their tars are kept, and uploaded later")
        elif not self._entries and self._level is not BacklogLevel.EMPTY:
            self._change_level(BacklogLevel.EMPTY)
            left = counted_text(self._given_up, "segment")
            logger.info("no tar waits for the store any more; %s were left to the repair", left)
            self._given_up = 0

    def _change_level(self, level: BacklogLevel) -> None:
        if level not in LEVEL_CHANGES[self._level]:
            raise ValueError(f"a backlog that is {self._level} cannot become {level}")
        self._level = level
