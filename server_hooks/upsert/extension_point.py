"""The extension point for upsert tables on a server: one for each range of Pinot versions."""

from __future__ import annotations

from typing import Any, Protocol

from jvm_bridge.role_host import HostedServerView
from server_hooks.table_managers import has_extension_point
from server_hooks.upsert.server_events import Listener

__all__ = ["TableExtensionPoint", "install_extension"]


class TableExtensionPoint(Protocol):
    """Reads from a server's table and segment data managers."""

    cuts_by_option: bool
    """Whether a query names its version in an option; else it does so in a condition."""

    def prepare(self, role: HostedServerView) -> None:
        """Do the part of the installation that needs the server's configuration, before the server starts."""
        ...

    def consuming_start(self, manager: Any) -> int | None:
        """Return the start offset of a consuming segment; None for a segment that does not consume."""
        ...

    def segment_names(self, table: Any) -> frozenset[str]:
        """Return the names of the segments that a table's data manager has."""
        ...


def install_extension(listener: Listener) -> TableExtensionPoint:
    """Intercept changes of segments and the rows of queries; call it before Pinot loads its classes.

    Args:
        listener: Called for segments in Pinot's threads.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded a class.
        SetupError: This Java has no compiler.
    """
    if has_extension_point():
        from server_hooks.upsert.extension_point_1_5 import PluggedServer

        return PluggedServer(listener)
    from server_hooks.upsert.extension_point_0_11 import PatchedServer

    return PatchedServer(listener)
