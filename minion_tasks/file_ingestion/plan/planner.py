"""Decides which files to read, how to group them and which segments to replace: pure functions, no IO."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_client.common.text import visible
from controller_client.errors import ConflictError, SourceError
from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.params.patterns import HiddenNames, PathMatcher, path_of
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.session.model import IngestionMode

_LEFT_OUT_NAMED = 3
_MOST_FILES = 10_000_000


@dataclass(frozen=True)
class SourceDiff:
    """A source listing compared with the files that the table's segments were built from."""

    new: tuple[FileInfo, ...]
    changed: tuple[FileInfo, ...]
    deleted: tuple[str, ...]
    unchanged: tuple[FileInfo, ...]


@dataclass(frozen=True)
class SourcePlan:
    """What a session has to do about a difference, depending on its mode.

    Attributes:
        diff: The difference.
        to_read: Files to build segments from, ordered by URI.
        replaced: Segments of the table that the new ones replace.
    """

    diff: SourceDiff
    to_read: tuple[FileInfo, ...]
    replaced: tuple[str, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether the table already matches the source."""
        return not self.to_read and not self.replaced


@dataclass(frozen=True)
class LeftOut:
    """Files of the source that are not read.

    Attributes:
        files: How many.
        first: The first of them.
    """

    files: int = 0
    first: tuple[FileInfo, ...] = ()

    def plus(self, file: FileInfo) -> LeftOut:
        """Count another file."""
        return LeftOut(self.files + 1, self.first + (file,) * (self.files < _LEFT_OUT_NAMED))

    @property
    def examples(self) -> str:
        """The first of them for display."""
        return ", ".join(visible(path_of(file.uri)) for file in self.first)


@dataclass(frozen=True)
class Selection:
    """The files of a listing that are data and match the patterns.

    Attributes:
        files: The selected files by URI.
        by_patterns: Files that the patterns exclude.
        hidden: Files that match the patterns, but are hidden (see `params.hidden`).
    """

    files: Mapping[str, FileInfo]
    by_patterns: LeftOut = LeftOut()
    hidden: LeftOut = LeftOut()


def select(
    files: Iterable[FileInfo], folder_uri: str, include: PathMatcher | None, exclude: PathMatcher | None
) -> Selection:
    """Select the files that match the include pattern but not the exclude pattern, and are not hidden.

    Args:
        files: The source's files.
        folder_uri: The source's folder.
        include: The include pattern.
        exclude: The exclude pattern.

    Raises:
        SourceError: There are too many files.
    """
    taken: dict[str, FileInfo] = {}
    by_patterns, hidden = LeftOut(), LeftOut()
    names = HiddenNames(folder_uri, include)
    for count, file in enumerate(files, 1):
        if count > _MOST_FILES:
            # A listing without an end would take all memory.
            raise SourceError(
                f"{visible(folder_uri)} lists more than {_MOST_FILES:,} files",
                remedy="give inputDirURI a folder with fewer; or check the store, if there are fewer",
            )
        if (include is not None and not include.matches(file.uri)) or (
            exclude is not None and exclude.matches(file.uri)
        ):
            by_patterns = by_patterns.plus(file)
        elif names.hide(file.uri):
            hidden = hidden.plus(file)
        else:
            taken[file.uri] = file
    return Selection(taken, by_patterns, hidden)


def compare(listed: Iterable[FileInfo], ingested: Mapping[str, FileInfo]) -> SourceDiff:
    """Compare a listing with the files that are in the table.

    Args:
        listed: The files of the source, each URI once.
        ingested: Maps each URI to the file as it was when it was ingested.
    """
    new, changed, unchanged, seen = [], [], [], set()
    for file in listed:
        seen.add(file.uri)
        before = ingested.get(file.uri)
        if before is None:
            new.append(file)
        elif is_same(before, file):
            unchanged.append(file)
        else:
            changed.append(file)
    deleted = tuple(sorted(uri for uri in ingested if uri not in seen))
    return SourceDiff(tuple(new), tuple(changed), deleted, tuple(unchanged))


def plan_source(mode: IngestionMode, listed: Sequence[FileInfo], contents: TableContents) -> SourcePlan:
    """Decide which files are read and which segments of the table are replaced.

    - append: new files are read; nothing is replaced.
    - update: new and changed files are read; the segments of changed files are replaced, as in sync mode.
    - sync: new and changed files are read; the segments of changed and deleted files are replaced. If such a
      segment contains other files too (the table was filled in append mode), these are read again as well.
    - swap: all files are read and all segments are replaced, unless nothing differs at all.

    Raises:
        ConflictError: In update mode, a changed file shares its segment with a deleted one.
    """
    diff = compare(listed, contents.files)
    if mode is IngestionMode.APPEND:
        return SourcePlan(diff, diff.new, ())
    gone = {file.uri for file in diff.changed}
    if mode is not IngestionMode.UPDATE:
        gone.update(diff.deleted)
    if mode is IngestionMode.SWAP:
        if not diff.new and not gone and not contents.foreign:
            return SourcePlan(diff, (), ())
        return SourcePlan(diff, tuple(listed), tuple(contents.segments))
    replaced = tuple(name for name, uris in contents.uris_of.items() if not gone.isdisjoint(uris))
    together = {uri for name in replaced for uri in contents.uris_of[name]}
    if mode is IngestionMode.UPDATE:
        present = together.difference(diff.deleted)
        for name in replaced:
            _check_none_lost(name, contents.uris_of[name], present, present)
    to_read = [*diff.new, *diff.changed, *(file for file in diff.unchanged if file.uri in together)]
    if to_read and mode is IngestionMode.SYNC:
        # An empty segment left by an earlier removal is no longer needed.
        replaced += tuple(name for name, uris in contents.uris_of.items() if not uris)
    return SourcePlan(diff, tuple(sorted(to_read, key=lambda file: file.uri)), replaced)


def replaced_by(
    mode: IngestionMode, staged: Collection[str], listed: Collection[str], contents: TableContents
) -> list[str]:
    """Return the segments that a session's staged files replace, whatever happened since it was planned.

    Args:
        mode: The session's mode.
        staged: URIs of the files that the session has staged.
        listed: URIs of the source's files.
        contents: The table's current contents.

    Raises:
        ConflictError: A segment to be replaced contains rows of a file that the session has not read.
    """
    if mode is IngestionMode.APPEND:
        return []
    if mode is IngestionMode.SWAP:
        return contents.segments
    follows_deletions = mode is IngestionMode.SYNC
    replaced = []
    for name, uris in contents.uris_of.items():
        is_empty = follows_deletions and staged and not uris
        if is_empty or any(uri in staged or (follows_deletions and uri not in listed) for uri in uris):
            of_rows = [uri for uri in uris if uri in listed] if follows_deletions else uris
            _check_none_lost(name, of_rows, staged, listed)
            replaced.append(name)
    return replaced


def _check_none_lost(
    segment: str, uris: Iterable[str], read: Collection[str], listed: Collection[str]
) -> None:
    """Refuse to replace a segment with rows of a file that is not read."""
    unread = next((uri for uri in uris if uri not in read), None)
    if unread is None:
        return
    rows = f"segment {segment} must be replaced, but it also contains rows of {visible(unread)}"
    if unread in listed:
        raise ConflictError(
            f"{rows}, which this run did not read",
            remedy="run the task again; the next run reads that file too",
        )
    raise ConflictError(
        f"{rows}, which is no longer in the source",
        remedy="put that file back, or set enableSync, which removes the rows of deleted files",
    )


def read_alongside(
    mode: IngestionMode, joined: Collection[str], listed: Mapping[str, FileInfo], contents: TableContents
) -> list[FileInfo]:
    """Return the files that a session has to read in addition to its own, whether they differ or not.

    A session replaces what it planned to replace, even if the source has changed back to match the table
    since then. Other files in the replaced segments must be read again.

    Args:
        mode: The session's mode.
        joined: URIs of the session's files.
        listed: The source's files by URI.
        contents: The table's current contents.
    """
    if mode is IngestionMode.APPEND:
        return []
    if mode is IngestionMode.SWAP:
        return list(listed.values())
    shared = {uri for uris in contents.uris_of.values() if any(uri in joined for uri in uris) for uri in uris}
    return [file for uri, file in listed.items() if uri in shared]


def is_same(before: FileInfo, now: FileInfo) -> bool:
    """Whether two listings of a URI have the same content: by etag if both have one, or by size and time."""
    if before.etag is not None and now.etag is not None:
        return before.etag == now.etag and before.size_bytes == now.size_bytes
    return before.size_bytes == now.size_bytes and before.modified_ms == now.modified_ms


def group(files: Iterable[FileInfo], *, max_files: int, max_bytes: int) -> list[tuple[FileInfo, ...]]:
    """Split files into groups of at most ``max_files`` files and ``max_bytes`` bytes.

    A file larger than ``max_bytes`` gets its own group. Files are ordered by URI, and every file is in
    exactly one group.
    """
    groups: list[tuple[FileInfo, ...]] = []
    current: list[FileInfo] = []
    size = 0
    for file in sorted(files, key=lambda f: f.uri):
        if current and (len(current) == max_files or size + file.size_bytes > max_bytes):
            groups.append(tuple(current))
            current, size = [], 0
        current.append(file)
        size += file.size_bytes
    if current:
        groups.append(tuple(current))
    return groups


def share_out(sizes: Mapping[int, int], max_tasks: int | None) -> list[tuple[int, ...]]:
    """Assign groups to subtasks: one group each or, if that makes too many subtasks, evenly by size.

    A run ingests all files or none, so the limit applies to the number of subtasks, not to the files read.

    Args:
        sizes: Maps each group number to its size in bytes.
        max_tasks: Maximum number of subtasks; None: no limit.
    """
    if max_tasks is None or len(sizes) <= max_tasks:
        return [(number,) for number in sizes]
    heap = [(0, 0, index) for index in range(max_tasks)]
    members: list[list[int]] = [[] for _ in range(max_tasks)]
    for number, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        total, count, index = heapq.heappop(heap)
        members[index].append(number)
        heapq.heappush(heap, (total + size, count + 1, index))
    return [tuple(sorted(numbers)) for numbers in members]
