"""What queries are told of the versions of a server's upsert tables; Java: ``upsert.ServedVersions``.

Queries do not come through Python. All of this is after the Java was loaded, in any thread.
"""

from __future__ import annotations

from typing import Any

import jpype

from server_hooks.upsert.first_versions import Changes
from server_hooks.upsert.server_events import PACKAGE

__all__ = ["SegmentVersions", "attach", "complete", "configure", "forget", "serve"]


class SegmentVersions:
    """The versions of a segment's rows, by which queries find those that they see; one thread at a time.

    Args:
        java: Java's ``SegmentVersions``.
    """

    def __init__(self, java: Any) -> None:
        self._java = java

    def write(self, changes: Changes) -> None:
        """Write into the columns of a consuming segment; Pinot must keep its memory meanwhile."""
        self._java.write(*_arguments(changes))

    def wrote(self, changes: Changes) -> None:
        """The columns of a sealed segment have these versions now."""
        self._java.wrote(*_arguments(changes))

    def end(self) -> None:
        """Nothing more is written: queries that still have the segment read its columns."""
        self._java.end()


def configure(*, wait_ms: int, without_version: bool = False) -> None:
    """Set what becomes of queries.

    Args:
        wait_ms: How long they wait for a version that is not complete here.
        without_version: Whether those that name no version see all rows; else they are refused.
    """
    _java().install(wait_ms, without_version)


def serve(table: str) -> None:
    """A table (with type) is an upsert table of this server: queries have to name a version of it."""
    _java().of(table)


def complete(table: str, version: int) -> None:
    """The server is complete up to a version; to be called before anybody else is told.

    Args:
        table: Name with type.
        version: The version.
    """
    _java().complete(table, version)


def attach(table: str, segment: Any) -> SegmentVersions:
    """Somebody begins to write versions into a segment's rows, and tells of each from now on.

    Args:
        table: Name with type.
        segment: Pinot's.
    """
    return SegmentVersions(_java().of(table).attach(segment))


def forget(table: str) -> None:
    """A table is gone."""
    _java().forget(table)


def _arguments(changes: Changes) -> tuple[Any, ...]:
    # By their buffers, which takes no time for each of them.
    rows, versions = jpype.JArray.of(changes.rows), jpype.JArray.of(changes.versions)
    return rows, versions, changes.inserted, changes.lower


def _java() -> Any:
    return jpype.JClass(f"{PACKAGE}.ServedVersions")
