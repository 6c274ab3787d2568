"""Processes one group of a subtask: builds the files without a result, and saves each result."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from controller_client.clock import Clock
from controller_client.errors import ConflictError, NotAppliedError, PinotPluginError
from jvm_bridge.builder import UnreadableFileError
from minion_tasks.file_ingestion.engine.staging_builder import BuildResult
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, FileStatus, SessionState
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore

__all__ = ["FilesBuilder", "GroupRun", "OnBuilt", "SubtaskFailedError", "merge_result"]

logger = logging.getLogger(__name__)

_SAVE_INTERVAL_S = 2.0


class SubtaskFailedError(PinotPluginError):
    """Some files of the subtask could not be built; the session's ledger has the reasons."""


class FilesBuilder(Protocol):
    """Turns files of a session into staged segments."""

    def __call__(self, entries: Sequence[FileEntry]) -> BuildResult:
        """Build files together and stage the segments."""
        ...

    def empty(self, number: int) -> BuildResult:
        """Build and stage an empty segment."""
        ...


OnBuilt = Callable[[Sequence[FileEntry], BuildResult], None]
"""Receives files that were built together, and the result."""


class GroupRun:
    """Processes one group in the subtask's thread.

    Results are saved at most every two seconds and at the end, since each save writes a znode.

    Args:
        sessions: The table's sessions.
        session_id: The session.
        number: The group.
        attempt: The session's retry count when the subtask was submitted; a later attempt has other subtasks.
        build: Builds and stages.
        params: The task's parameters.
        is_cancelled: Whether Helix has requested a stop.
        clock: The clock.
        on_built: Called with the result of files.
    """

    def __init__(
        self,
        sessions: SessionStore,
        session_id: str,
        number: int,
        *,
        attempt: int,
        build: FilesBuilder,
        params: FileIngestionParams,
        is_cancelled: Callable[[], bool],
        clock: Clock,
        on_built: OnBuilt = lambda _entries, _built: None,
    ) -> None:
        self._sessions = sessions
        self._session_id = session_id
        self._number = number
        self._attempt = attempt
        self._build = build
        self._params = params
        self._is_cancelled = is_cancelled
        self._clock = clock
        self._on_built = on_built
        self._unsaved: list[BuildResult] = []
        self._saved_at = self._clock.monotonic()
        self._bytes_read = self._bytes_built = 0

    def run(self) -> None:
        """Build all files of the group that do not have a result yet.

        Raises:
            SubtaskFailedError: At least one file failed.
            NotAppliedError: The session no longer wants this subtask.
        """
        group = self._sessions.group(self._session_id, self._number)
        try:
            # Another run of this subtask may have saved one file of a build first and left the others open.
            while not _is_over(group) or not _is_over(group := self._flush()):
                if self._is_cancelled():
                    raise NotAppliedError(
                        f"the subtask for group {self._number} of session {self._session_id} was cancelled"
                    )
                self._check_wanted()
                self._unsaved.append(self._build_next(group))
                group = self._merged(group)
                if self._clock.monotonic() - self._saved_at >= _SAVE_INTERVAL_S:
                    group = self._flush()
        except BaseException:
            with contextlib.suppress(NotAppliedError, DamagedSessionError):
                self._flush()
            raise
        failed = [entry for entry in group.entries if entry.status is FileStatus.FAILED]
        if failed:
            raise SubtaskFailedError(
                f"{len(failed)} of {len(group.entries)} files failed; first error: {failed[0].error}",
                where=failed[0].file.shown,
            )

    def _build_next(self, group: FileGroup) -> BuildResult:
        if group.empty_segment:
            return self._build.empty(0)
        entries = self._next_files(_pending(group))
        try:
            built = self._build(entries)
        except Exception as error:
            # Not caused by one file but by the staging folder or the disk; reported with each affected file.
            logger.exception("segments of %s could not be built", entries[0].file.shown)
            built = BuildResult(None, {entry.number: error for entry in entries})
        self._on_built(entries, built)
        if built.staged is not None:
            read = set(built.staged.files)
            self._bytes_read += sum(entry.file.size_bytes for entry in entries if entry.number in read)
            self._bytes_built += sum(segment.segment_size_bytes for segment in built.staged.segments)
        return built

    def _next_files(self, pending: Sequence[FileEntry]) -> Sequence[FileEntry]:
        """Take files for about one segment, estimated from the files of this group built so far."""
        if self._params.one_to_one:
            return pending[:1]
        ratio = self._bytes_built / self._bytes_read if self._bytes_read else 1.0
        size, taken = 0.0, 0
        for entry in pending:
            size += entry.file.size_bytes * ratio
            if taken and size > self._params.segment_bytes:
                break
            taken += 1
        return pending[:taken]

    def _check_wanted(self) -> None:
        session = self._sessions.load(self._session_id)
        if (
            session.abandoned
            or session.state is not SessionState.IN_PROGRESS
            or session.retry_count != self._attempt
        ):
            state = "abandoned" if session.abandoned else f"{session.state}, attempt {session.retry_count}"
            raise NotAppliedError(
                f"session {self._session_id} of {session.table} is {state}; this subtask is no longer needed"
            )

    def _merged(self, group: FileGroup) -> FileGroup:
        now_ms = int(self._clock.now() * 1000)
        for built in self._unsaved:
            group = merge_result(group, built, now_ms, skip_unreadable=self._params.skip_unreadable)
        return group

    def _flush(self) -> FileGroup:
        def change(stored: FileGroup) -> FileGroup:
            # A run that resumes the session first increments the attempt and then writes the groups.
            self._check_wanted()
            return self._merged(stored)

        if not self._unsaved:
            return self._sessions.group(self._session_id, self._number)
        group = self._sessions.change_group(self._session_id, self._number, change)
        self._unsaved.clear()
        self._saved_at = self._clock.monotonic()
        return group


def merge_result(group: FileGroup, built: BuildResult, now_ms: int, *, skip_unreadable: bool) -> FileGroup:
    """Merge a result into a group, unless another run of the same subtask saved one of the files first."""
    pending = {entry.number for entry in _pending(group)}
    staged = built.staged
    if group.empty_segment:
        return group if group.builds or staged is None else replace(group, builds=(staged,))
    failures = dict(built.failures)
    names = {segment.name for segment in group.segments}
    if staged is not None and not pending.issuperset(staged.files):
        staged = None
    elif staged is not None and any(segment.name in names for segment in staged.segments):
        taken = ConflictError(
            f"another attempt used the segment name {staged.segments[0].name} for other files"
        )
        failures |= dict.fromkeys(staged.files, taken)
        staged = None
    done = set(staged.files) if staged is not None else set()

    def merged(entry: FileEntry) -> FileEntry:
        if entry.number in done:
            return replace(entry, status=FileStatus.STAGED, ended_ms=now_ms)
        error = failures.get(entry.number)
        if error is None or entry.number not in pending:
            return entry
        skip = skip_unreadable and isinstance(error, UnreadableFileError)
        return replace(
            entry,
            status=FileStatus.SKIPPED if skip else FileStatus.FAILED,
            error=_described(entry, error),
            ended_ms=now_ms,
        )

    entries = tuple(merged(entry) for entry in group.entries)
    return replace(group, entries=entries, builds=group.builds if staged is None else (*group.builds, staged))


def _described(entry: FileEntry, error: Exception) -> str:
    name = entry.file.shown
    if not isinstance(error, PinotPluginError):
        return f"{name}: unexpected {type(error).__name__}: {error}"
    return str(error) if name in error.message else f"{name}: {error}"


def _is_over(group: FileGroup) -> bool:
    return group.is_settled or not (group.empty_segment or _pending(group))


def _pending(group: FileGroup) -> list[FileEntry]:
    return [entry for entry in group.entries if entry.status is FileStatus.PENDING]
