"""The extension point in Pinot 1.4 and 1.5: our class of consuming segments asks before the first row.

Java: ``v1_5.tables.ConsumingSegment``, created by the table managers of ``server_hooks.table_managers``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from jvm_bridge.role_host import HostedServerView
from server_hooks import table_managers
from server_hooks.pause.java_gate import java_gate

__all__ = ["PausableSegments"]

_SEGMENT = f"{table_managers.PACKAGE}.ConsumingSegment"


class PausableSegments:
    """Makes a server create consuming segments that can be paused.

    See :class:`~server_hooks.pause.extension_point.ExtensionPoint`.

    Args:
        role: The server, before it starts.
        on_start: Called once per segment, in its consumer's thread, with the segment's data manager.

    Raises:
        UnsupportedError: This Pinot is built differently.
        ConfigError: The configuration sets another class for table managers.
        SetupError: This Java has no compiler.
    """

    def __init__(self, role: HostedServerView, on_start: Callable[[Any], None]) -> None:
        table_managers.install(role)
        self._segment_class = jpype.JClass(_SEGMENT)
        self._segment_class.install(java_gate(on_start))

    def must_stop(self, manager: Any) -> bool:
        """Return whether Pinot asked a consuming segment to stop."""
        return bool(manager.mustStop())

    def must_commit(self, manager: Any) -> bool:
        """Return whether a consuming segment was asked to commit."""
        return bool(manager.mustCommit())

    def is_consuming(self, manager: Any) -> bool:
        """Return whether a segment's data manager is that of a consuming segment."""
        return isinstance(manager, self._segment_class)
