"""Figures from a session's ledger, counted in one pass, for ``pinotctl task session`` and its page.

Counts and sums cover everything. Lists are limited, so that a session with 100,000 files needs little memory
and results in a small page.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_client.common.text import utc_text
from controller_client.publishing.staged_segment import StagedSegment
from minion_tasks.file_ingestion.session.column_notes import ColumnCount, DifferingColumn
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedBuild,
)
from minion_tasks.file_ingestion.session.store import SessionStore

__all__ = ["clock_text", "first_line", "seconds_text"]


def seconds_text(seconds: float) -> str:
    """Format a duration: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 90:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def first_line(message: str | None) -> str | None:
    """Return a session's message without the errors of its files, which are shown separately."""
    return message.partition("\n")[0].rstrip(":") if message else None


def clock_text(time_ms: int) -> str:
    """Format a time of the ledger: UTC, to the second."""
    return utc_text(time_ms)


_STEPS_PER_ATTEMPT = 240

_MAX_BINS = 16


@dataclass(frozen=True)
class Failure:
    """A file that was not staged, and the reason."""

    uri: str
    status: FileStatus
    error: str
    ended_ms: int | None


@dataclass(frozen=True)
class BuildFigures:
    """Files that were built together.

    Attributes:
        uri: The first file.
        build_s: Seconds to read the files and build all their segments, without the upload.
    """

    uri: str
    files: int
    source_bytes: int
    rows: int
    segments: int
    build_s: float
    reader: str


@dataclass(frozen=True)
class Histogram:
    """Counts of sizes in bins that double (or more); ``low`` is inclusive, ``high`` exclusive."""

    bins: tuple[tuple[int, int, int], ...]
    smallest: int
    largest: int
    median: int


@dataclass(frozen=True)
class AttemptFigures:
    """One trigger of a session.

    Attributes:
        number: 0 for the first attempt, then the number of the retry.
        last_ms: When the last of its files ended; None if none did.
        staged: Files that it staged and that are still staged.
        failed: Files that failed or were skipped in it and have not been read since.
        staged_steps: Times and the number of the session's files that were staged by then, ascending.
        failed_steps: The same for its failed files.
    """

    number: int
    began_ms: int
    last_ms: int | None
    staged: int
    failed: int
    staged_steps: tuple[tuple[int, int], ...]
    failed_steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SessionReport:
    """The figures of a session.

    Attributes:
        files: Number of files in each state.
        source_bytes: Total size of its files.
        staged_source_bytes: Total size of its staged files.
        rows: Rows in the staged segments.
        tar_bytes: Compressed size of the staged segments, as stored in the staging folder.
        segment_bytes: Uncompressed size of the staged segments, as stored on servers.
        segments: Number of staged segments. An empty segment counts only if there is no other.
        first_segments: Names of the first staged segments.
        readers: Number of staged segments by reader of their files.
        fallback_reasons: Reasons for reading files row by row, with the number of segments.
        columns: How the columns of staged files differ from the table's.
        failures: The first files that failed or were skipped.
        replaced: Number of segments to replace; None before SWITCH, when it is not fixed yet.
        first_replaced: Names of the first segments to replace.
        attempts: The attempts.
    """

    session: Session
    files: Mapping[FileStatus, int]
    source_bytes: int
    staged_source_bytes: int
    rows: int
    tar_bytes: int
    segment_bytes: int
    segments: int
    first_segments: tuple[str, ...]
    readers: Mapping[str, int]
    fallback_reasons: Mapping[str, int]
    columns: tuple[DifferingColumn, ...]
    failures: tuple[Failure, ...]
    replaced: int | None
    first_replaced: tuple[str, ...]
    attempts: tuple[AttemptFigures, ...]
    slowest: tuple[BuildFigures, ...]
    file_sizes: Histogram | None
    segment_sizes: Histogram | None

    @property
    def unread(self) -> int:
        """Number of files that another attempt would read."""
        return self.files[FileStatus.PENDING] + self.files[FileStatus.FAILED]

    @property
    def not_staged(self) -> int:
        """Number of files that failed or were skipped."""
        return self.files[FileStatus.FAILED] + self.files[FileStatus.SKIPPED]


def read_report(
    sessions: SessionStore, session: Session, *, failures: int = 100, names: int = 200, slowest: int = 20
) -> SessionReport:
    """Read a session's ledger and compute its figures.

    Args:
        sessions: The table's sessions.
        session: The session.
        failures: Maximum number of failures to list.
        names: Maximum number of new segments to list, and of replaced segments.
        slowest: Maximum number of builds to list.
    """
    # In INIT, groups are still being written.
    groups = sessions.groups(session) if session.state is not SessionState.INIT else ()
    replaced = sessions.read_from(session) if session.from_pages else []
    return count_session(session, groups, replaced, failures=failures, names=names, slowest=slowest)


def count_session(
    session: Session,
    groups: Iterable[FileGroup],
    replaced: Sequence[str],
    *,
    failures: int = 100,
    names: int = 200,
    slowest: int = 20,
) -> SessionReport:
    """Compute the figures of a session; see `read_report`."""
    count = _Count(failures, slowest)
    for group in groups:
        count.add(group)
    segments = count.segments or count.without_rows[:1]
    fixed = session.state in (SessionState.REJECTED, SessionState.SWITCH, SessionState.DONE)
    return SessionReport(
        session=session,
        files={status: count.files[status] for status in FileStatus},
        source_bytes=sum(count.file_sizes),
        staged_source_bytes=count.staged_source_bytes,
        rows=sum(segment.rows for segment in segments),
        tar_bytes=sum(segment.tar_size_bytes for segment in segments),
        segment_bytes=sum(segment.segment_size_bytes for segment in segments),
        segments=len(segments),
        first_segments=tuple(segment.name for segment in segments[:names]),
        readers=dict(Counter(segment.reader for segment in segments).most_common()),
        fallback_reasons=dict(
            Counter(s.fallback_reason for s in segments if s.fallback_reason).most_common()
        ),
        columns=count.columns.result(),
        failures=tuple(count.failures),
        replaced=len(replaced) if fixed else None,
        first_replaced=tuple(replaced[:names]),
        attempts=count_attempts(session, count.staged_ms, count.failed_ms),
        slowest=tuple(build for _, _, build in sorted(count.slowest, reverse=True)),
        file_sizes=histogram(count.file_sizes),
        segment_sizes=histogram([segment.segment_size_bytes for segment in segments]),
    )


class _Count:
    def __init__(self, max_failures: int, max_slowest: int) -> None:
        self._max_failures = max_failures
        self._max_slowest = max_slowest
        self.files: Counter[FileStatus] = Counter()
        self.file_sizes: list[int] = []
        self.staged_source_bytes = 0
        self.segments: list[StagedSegment] = []
        self.without_rows: list[StagedSegment] = []
        self.failures: list[Failure] = []
        self.staged_ms: list[int] = []
        self.failed_ms: list[int] = []
        # The build's number is the tie-breaker, since figures have no order.
        self.slowest: list[tuple[float, int, BuildFigures]] = []
        self.columns = ColumnCount()
        self._builds = 0

    def add(self, group: FileGroup) -> None:
        self.columns.add(group)
        (self.without_rows if group.empty_segment else self.segments).extend(group.segments)
        by_number = {entry.number: entry for entry in group.entries}
        for entry in group.entries:
            self._add_entry(entry)
        for build in group.builds:
            self._add_build(build, [by_number[number] for number in build.files if number in by_number])

    def _add_entry(self, entry: FileEntry) -> None:
        self.files[entry.status] += 1
        self.file_sizes.append(entry.file.size_bytes)
        if entry.status is FileStatus.STAGED:
            self.staged_source_bytes += entry.file.size_bytes
            if entry.ended_ms is not None:
                self.staged_ms.append(entry.ended_ms)
        elif entry.status in (FileStatus.FAILED, FileStatus.SKIPPED):
            if entry.ended_ms is not None:
                self.failed_ms.append(entry.ended_ms)
            if len(self.failures) < self._max_failures:
                error = entry.error or "no reason was recorded"
                self.failures.append(Failure(entry.file.uri, entry.status, error, entry.ended_ms))

    def _add_build(self, build: StagedBuild, entries: Sequence[FileEntry]) -> None:
        if not entries:
            return
        figures = BuildFigures(
            uri=entries[0].file.uri,
            files=len(entries),
            source_bytes=sum(entry.file.size_bytes for entry in entries),
            rows=sum(segment.rows for segment in build.segments),
            segments=len(build.segments),
            build_s=sum(segment.build_s for segment in build.segments),
            reader=", ".join(sorted({segment.reader for segment in build.segments})),
        )
        self._builds += 1
        item = (figures.build_s, -self._builds, figures)
        if len(self.slowest) < self._max_slowest:
            heapq.heappush(self.slowest, item)
        elif self._max_slowest:
            heapq.heappushpop(self.slowest, item)


def count_attempts(
    session: Session, staged_ms: Iterable[int], failed_ms: Iterable[int]
) -> tuple[AttemptFigures, ...]:
    """Assign the end of each file to an attempt, by the machines' clocks.

    Args:
        session: The session, with the start times of its attempts.
        staged_ms: When its staged files were staged.
        failed_ms: When its failed files failed.
    """
    began = sorted(session.attempts_ms) or [session.created_ms]
    staged, failed = _by_attempt(began, staged_ms), _by_attempt(began, failed_ms)
    attempts, before = [], 0
    for number, began_ms in enumerate(began):
        ends = [*staged[number][-1:], *failed[number][-1:]]
        attempts.append(
            AttemptFigures(
                number=number,
                began_ms=began_ms,
                last_ms=max(ends) if ends else None,
                staged=len(staged[number]),
                failed=len(failed[number]),
                staged_steps=_steps(staged[number], before),
                failed_steps=_steps(failed[number], 0),
            )
        )
        before += len(staged[number])
    return tuple(attempts)


def _by_attempt(began: Sequence[int], times_ms: Iterable[int]) -> list[list[int]]:
    ends: list[list[int]] = [[] for _ in began]
    for time_ms in sorted(times_ms):
        # A minion's clock may be slightly behind that of the process that started the session.
        ends[max(0, bisect_right(began, time_ms) - 1)].append(time_ms)
    return ends


def _steps(times_ms: Sequence[int], before: int) -> tuple[tuple[int, int], ...]:
    """Return at most as many steps as a chart can show, always including the last."""
    count = len(times_ms)
    if count <= _STEPS_PER_ATTEMPT:
        indexes: Iterable[int] = range(count)
    else:
        indexes = sorted({(n + 1) * count // _STEPS_PER_ATTEMPT - 1 for n in range(_STEPS_PER_ATTEMPT)})
    return tuple((times_ms[index], before + index + 1) for index in indexes)


def histogram(sizes: Sequence[int]) -> Histogram | None:
    """Count sizes in bins whose bounds double, or grow faster if that makes too many bins.

    Returns:
        The histogram; None if there are no sizes.
    """
    if not sizes:
        return None
    ordered = sorted(sizes)
    first, last = _exponent(ordered[0]), _exponent(ordered[-1])
    width = math.ceil((last - first + 1) / _MAX_BINS)
    counts: Counter[int] = Counter((_exponent(size) - first) // width for size in ordered)
    bins = []
    for number in range((last - first) // width + 1):
        low, high = (first + (number + step) * width for step in (0, 1))
        bins.append((0 if low == 0 else 2 ** (low - 1), 2 ** (high - 1), counts[number]))
    return Histogram(tuple(bins), ordered[0], ordered[-1], ordered[len(ordered) // 2])


def _exponent(size: int) -> int:
    """0 for no bytes, 1 for one byte, 2 for two and three bytes, ..."""
    return max(0, size).bit_length()
