"""What Pinot's classes tell and ask the hook; Java: ``io.pinotplugins.upsert.ServerEvents``."""

from __future__ import annotations

from typing import Any, Protocol

import jpype

from jvm_bridge.java_interface import overrides

__all__ = ["EVENTS", "PACKAGE", "Listener", "listen"]

PACKAGE = "io.pinotplugins.upsert"
"""The Java that all versions of Pinot share."""

EVENTS = f"{PACKAGE}.ServerEvents"
"""Its class that Pinot's classes call."""


class Listener(Protocol):
    """What is asked and told; in threads of Pinot's (Helix' transitions, commits), and it must not raise."""

    def before_add(self, table: Any, segment: Any) -> None:
        """Before a ``TableDataManager`` takes an ``ImmutableSegment``: queries do not see it yet."""
        ...

    def consuming(self, table: Any, segment: str) -> None:
        """A consuming segment was made; it consumes, and its transition waits for the return."""
        ...

    def removed(self, table: Any, segment: str) -> None:
        """A segment was taken out of the table."""
        ...

    def before_open(self) -> None:
        """Before the server takes queries; in the main thread."""
        ...


def listen(listener: Listener) -> None:
    """Be told; after the Java was loaded, before the first segment comes."""
    jpype.JClass(EVENTS).install(jpype.JObject(_Listener(listener), jpype.JClass(f"{EVENTS}$Listener")))


@jpype.JImplements(f"{EVENTS}$Listener", deferred=True)
class _Listener:
    """Called by Pinot's classes, through ``ServerEvents.java``."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    @overrides
    def beforeAdd(self, table: Any, segment: Any) -> None:  # noqa: N802  # Java's name
        self._listener.before_add(table, segment)

    @overrides
    def consuming(self, table: Any, segment: Any) -> None:
        self._listener.consuming(table, str(segment))

    @overrides
    def removed(self, table: Any, segment: Any) -> None:
        self._listener.removed(table, str(segment))

    @overrides
    def beforeOpen(self) -> None:  # noqa: N802  # Java's name
        self._listener.before_open()
