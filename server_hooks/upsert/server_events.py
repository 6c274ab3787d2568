"""The events that Pinot's classes report to the hook; Java: ``io.pinotplugins.upsert.ServerEvents``."""

from __future__ import annotations

from typing import Any, Protocol

import jpype

from jvm_bridge.java_interface import overrides

__all__ = ["EVENTS", "PACKAGE", "Listener", "listen"]

PACKAGE = "io.pinotplugins.upsert"
"""The Java package that is shared by all versions of Pinot."""

EVENTS = f"{PACKAGE}.ServerEvents"
"""The class in it that Pinot's classes call."""


class Listener(Protocol):
    """Receives events in Pinot's threads (Helix transitions, commits); must not raise."""

    def before_add(self, table: Any, segment: Any) -> None:
        """Called before a ``TableDataManager`` adds an ``ImmutableSegment``: queries do not see it yet."""
        ...

    def consuming(self, table: Any, segment: str) -> None:
        """Called after a consuming segment was created; its transition waits for the return."""
        ...

    def removed(self, table: Any, segment: str) -> None:
        """Called after a segment was removed from the table."""
        ...

    def before_open(self) -> None:
        """Called in the main thread before the server accepts queries."""
        ...


def listen(listener: Listener) -> None:
    """Register a listener; call it once the Java classes are loaded, before the first segment is added."""
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
