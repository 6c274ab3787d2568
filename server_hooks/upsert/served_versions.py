"""Publishes the versions of a server's upsert tables to queries; Java: ``upsert.ServedVersions``.

Queries do not call Python. All functions can be called in any thread once the Java classes are loaded.
"""

from __future__ import annotations

from typing import Any

import jpype

from server_hooks.upsert.first_versions import Changes
from server_hooks.upsert.server_events import PACKAGE

__all__ = ["SegmentVersions", "attach", "complete", "configure", "forget", "serve"]


class SegmentVersions:
    """The versions of a segment's rows, by which queries find visible rows; used by one thread at a time.

    Args:
        java: Java's ``SegmentVersions``.
    """

    def __init__(self, java: Any) -> None:
        self._java = java

    def write(self, changes: Changes) -> None:
        """Write into the columns of a consuming segment; the caller keeps Pinot from freeing its memory."""
        self._java.write(*_arguments(changes))

    def wrote(self, changes: Changes) -> None:
        """Record that these versions were written into the columns of a sealed segment."""
        self._java.wrote(*_arguments(changes))

    def end(self) -> None:
        """Stop recording changes; queries that still use the segment then read its columns."""
        self._java.end()


def configure(*, wait_ms: int, without_version: bool = False) -> None:
    """Configure how queries are handled.

    Args:
        wait_ms: How long a query waits for a version that is not complete here.
        without_version: Whether queries that name no version see all rows; if not, they are rejected.
    """
    _java().install(wait_ms, without_version)


def serve(table: str) -> None:
    """Register a table (with type) as an upsert table of this server: queries have to name a version."""
    _java().of(table)


def complete(table: str, version: int) -> None:
    """Record that the server is complete up to a version; call it before the version is reported elsewhere.

    Args:
        table: Table name with type.
        version: The version.
    """
    _java().complete(table, version)


def attach(table: str, segment: Any) -> SegmentVersions:
    """Register a writer of versions into a segment's rows, which reports each write from now on.

    Args:
        table: Table name with type.
        segment: Pinot's segment.
    """
    return SegmentVersions(_java().of(table).attach(segment))


def forget(table: str) -> None:
    """Forget a table that no longer exists."""
    _java().forget(table)


def _arguments(changes: Changes) -> tuple[Any, ...]:
    # Copied as buffers, which costs no time per element.
    rows, versions = jpype.JArray.of(changes.rows), jpype.JArray.of(changes.versions)
    return rows, versions, changes.inserted, changes.lower


def _java() -> Any:
    return jpype.JClass(f"{PACKAGE}.ServedVersions")
