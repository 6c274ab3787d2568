"""Which files to read, in which groups, into which segments: pure functions, no IO."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minion_tasks.file_ingestion.patterns import PathMatcher
from minion_tasks.filestore import FileInfo


@dataclass(frozen=True)
class SourceDiff:
    """A source listing held against what the table's segments say they were built from."""

    new: tuple[FileInfo, ...]
    changed: tuple[FileInfo, ...]
    deleted: tuple[str, ...]
    unchanged: int


def select(
    files: Iterable[FileInfo], include: PathMatcher | None, exclude: PathMatcher | None
) -> Iterable[FileInfo]:
    """Keep the files that the include pattern takes and the exclude pattern leaves."""
    for file in files:
        if (include is None or include.matches(file.uri)) and not (
            exclude is not None and exclude.matches(file.uri)
        ):
            yield file


def compare(listed: Iterable[FileInfo], ingested: Mapping[str, FileInfo]) -> SourceDiff:
    """Compare a listing with the files that are in the table.

    Args:
        listed: The files of the source, each URI once.
        ingested: URI to the file as it was when it was ingested.
    """
    new, changed, seen, unchanged = [], [], set(), 0
    for file in listed:
        seen.add(file.uri)
        before = ingested.get(file.uri)
        if before is None:
            new.append(file)
        elif is_same(before, file):
            unchanged += 1
        else:
            changed.append(file)
    deleted = tuple(sorted(uri for uri in ingested if uri not in seen))
    return SourceDiff(tuple(new), tuple(changed), deleted, unchanged)


def is_same(before: FileInfo, now: FileInfo) -> bool:
    """Tell if two sightings of a URI are of one content: by etag if both have it, else by size and time."""
    if before.etag is not None and now.etag is not None:
        return before.etag == now.etag and before.size_bytes == now.size_bytes
    return before.size_bytes == now.size_bytes and before.modified_ms == now.modified_ms


def group(
    files: Sequence[FileInfo], *, max_groups: int, max_files: int, max_bytes: int
) -> list[tuple[FileInfo, ...]]:
    """Cut files into groups, one for each subtask.

    A group takes at most ``max_files`` files and ``max_bytes`` bytes (a larger file is alone). Where that
    would give more than
    ``max_groups`` groups, the bounds yield, since a run must take all files or none: the files are then
    spread evenly by size over ``max_groups`` groups. Groups hold their files in the order of the URIs; every
    file is in exactly one.
    """
    ordered = sorted(files, key=lambda f: f.uri)
    groups: list[tuple[FileInfo, ...]] = []
    current: list[FileInfo] = []
    size = 0
    for file in ordered:
        if current and (len(current) == max_files or size + file.size_bytes > max_bytes):
            groups.append(tuple(current))
            current, size = [], 0
        current.append(file)
        size += file.size_bytes
    if current:
        groups.append(tuple(current))
    return groups if len(groups) <= max_groups else _spread(ordered, max_groups)


def _spread(files: Sequence[FileInfo], count: int) -> list[tuple[FileInfo, ...]]:
    """Give each file, the largest first, to the group with the fewest bytes."""
    heap = [(0, 0, index) for index in range(count)]
    members: list[list[FileInfo]] = [[] for _ in range(count)]
    for file in sorted(files, key=lambda f: (-f.size_bytes, f.uri)):
        size, number, index = heapq.heappop(heap)
        members[index].append(file)
        heapq.heappush(heap, (size + file.size_bytes, number + 1, index))
    return [tuple(sorted(files, key=lambda f: f.uri)) for files in members if files]


def segment_name(raw_table: str, session: str, number: int) -> str:
    """Name the segment of the session's file number ``number``.

    The session is in it, so that a name never collides with a replaced or reverted segment of an earlier
    session.
    """
    return f"{raw_table}_{session}_{number:06d}"
