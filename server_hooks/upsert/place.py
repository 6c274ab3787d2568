"""Where in Pinot upsert tables are served: one place a range of versions."""

from __future__ import annotations

from typing import Any, Protocol

from jvm_bridge.role_host import HostedServerView
from server_hooks.table_managers import have_plug_in_point
from server_hooks.upsert.server_events import Listener

__all__ = ["Place", "take_place"]


class Place(Protocol):
    """Reaches into a server's table and segment data managers."""

    cuts_by_option: bool
    """Whether the version of a query is an option of it; else it is a condition."""

    def prepare(self, role: HostedServerView) -> None:
        """Take the place, where that needs the server's configuration; before the server starts."""
        ...

    def consuming_start(self, manager: Any) -> int | None:
        """The offset that a consuming segment begins with; None for a segment that does not consume."""
        ...

    def segment_names(self, table: Any) -> frozenset[str]:
        """Names of the segments that a table's data manager has."""
        ...


def take_place(listener: Listener) -> Place:
    """Stand where segments come and go, and where queries find their rows; before Pinot loads its classes.

    Args:
        listener: Asked and told of segments; in threads of Pinot's.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or a class is in use already.
        SetupError: This Java has no compiler.
    """
    if have_plug_in_point():
        from server_hooks.upsert.place_1_5 import PluggedServer

        return PluggedServer(listener)
    from server_hooks.upsert.place_0_11 import ChangedServer

    return ChangedServer(listener)
