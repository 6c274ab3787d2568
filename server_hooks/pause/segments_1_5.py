"""The place in Pinot 1.5 where consuming segments ask before their first row: their own class, ours.

Java: ``v1_5.tables.ConsumingSegment``, which the table managers of ``server_hooks.table_managers`` make.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from jvm_bridge.java_interface import overrides
from jvm_bridge.role_host import HostedServerView
from server_hooks import table_managers

__all__ = ["HoldableSegments"]

_SEGMENT = f"{table_managers.PACKAGE}.ConsumingSegment"
_PREDICATE = "java.util.function.Predicate"


class HoldableSegments:
    """Has a server make consuming segments that ask; see :class:`~server_hooks.pause.place.Place`.

    Args:
        role: The server, before it starts.
        on_segment: Called in a consumer's thread with its segment's name, once.

    Raises:
        UnsupportedError: This Pinot is built otherwise.
        ConfigError: Somebody else makes its table managers.
        SetupError: This Java has no compiler.
    """

    def __init__(self, role: HostedServerView, on_segment: Callable[[str], bool]) -> None:
        table_managers.install(role)
        self._segment_class = jpype.JClass(_SEGMENT)
        self._segment_class.install(jpype.JObject(_Gate(on_segment), jpype.JClass(_PREDICATE)))

    def must_stop(self, manager: Any) -> bool:
        """Whether Pinot told a consuming segment to stop."""
        return bool(manager.mustStop())

    def must_commit(self, manager: Any) -> bool:
        """Whether a consuming segment was told to commit."""
        return bool(manager.mustCommit())

    def is_consuming(self, manager: Any) -> bool:
        """Whether a segment's data manager is that of a consuming segment."""
        return isinstance(manager, self._segment_class)


@jpype.JImplements(_PREDICATE, deferred=True)
class _Gate:
    def __init__(self, on_segment: Callable[[str], bool]) -> None:
        self._on_segment = on_segment

    @overrides
    def test(self, segment: Any) -> bool:
        """Ask; called by ``ConsumingSegment.java`` in a segment's consumer thread."""
        return self._on_segment(str(segment))
