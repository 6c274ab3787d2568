"""Reconciles a session with the source as a later trigger finds it. Pure functions.

::

    in the session       in the source now    what happens
    staged               same or rewritten    stays staged; the next session ingests a rewritten file
    staged               gone                 dropped with its segments; files that share them are read again
    failed or pending    same or rewritten    read in its current version
    failed or pending    gone                 dropped
    skipped              same                 stays skipped
    not in it            new to the table     added
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.plan.planner import is_same
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, FileStatus

__all__ = ["reconcile_group"]


def reconcile_group(group: FileGroup, listed: Mapping[str, FileInfo]) -> FileGroup:
    """Return a group as a retry has to process it.

    Args:
        group: The group as its last subtask left it.
        listed: The source's current files by URI.
    """
    entries = tuple(entry for entry in group.entries if entry.file.uri in listed)
    left = {entry.number for entry in entries}
    builds = tuple(build for build in group.builds if left.issuperset(build.files))
    in_builds = {number for build in builds for number in build.files}
    now = tuple(_current(entry, listed[entry.file.uri], entry.number in in_builds) for entry in entries)
    return replace(group, entries=now, builds=builds)


def _current(entry: FileEntry, file: FileInfo, in_build: bool) -> FileEntry:
    if in_build:
        return entry
    if entry.status is FileStatus.SKIPPED and is_same(entry.file, file):
        return entry
    return FileEntry(entry.number, file, refreshes=entry.refreshes)
