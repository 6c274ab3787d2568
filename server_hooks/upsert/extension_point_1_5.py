"""The extension point for upsert tables in Pinot 1.5: its own extension points; Java: ``v1_5.tables``.

==========================================================  ==================================================
property of the server                                      what our class does
==========================================================  ==================================================
``pinot.server.instance.table.data.manager.provider.class`` reports segments to the hook; filters the rows of
                                                            a query by its version; adds the offset of its
                                                            message to each row
``pinot.server.query.executor.class``                       calls the hook before the server accepts queries;
                                                            a query waits for its version before Pinot
                                                            acquires segments
==========================================================  ==================================================

A query names the version of each of its upsert tables in the option ``upsertVersions``, and a server turns it
into a bitmap of each segment's rows. So every query of Pinot, with joins, windows or anything else, sees the
rows of that version, without a change of its text.
"""

from __future__ import annotations

from typing import Any

import jpype

from jvm_bridge.role_host import HostedServerView
from server_hooks import table_managers
from server_hooks.upsert.server_events import Listener, listen

__all__ = ["PluggedServer"]

_EXECUTOR_KEY = "pinot.server.query.executor.class"
_STOCK_EXECUTOR = "org.apache.pinot.core.query.executor.ServerQueryExecutorV1Impl"
_EXECUTOR = f"{table_managers.PACKAGE}.QueryExecutor"
_SEGMENT = f"{table_managers.PACKAGE}.ConsumingSegment"


class PluggedServer:
    """Our table managers and query executor.

    See :class:`~server_hooks.upsert.extension_point.ExtensionPoint`.

    Args:
        listener: Called for segments.
    """

    cuts_by_option = True

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def prepare(self, role: HostedServerView) -> None:
        """Set our classes in the configuration.

        Raises:
            UnsupportedError: This Pinot is built differently.
            ConfigError: The configuration sets other classes.
            SetupError: This Java has no compiler.
        """
        table_managers.install(role)
        table_managers.name_class(role, _EXECUTOR_KEY, _STOCK_EXECUTOR, _EXECUTOR)
        listen(self._listener)

    def consuming_start(self, manager: Any) -> int | None:
        """Return the start offset of a consuming segment; None for a segment that does not consume."""
        if not isinstance(manager, jpype.JClass(_SEGMENT)):
            return None
        return int(str(manager.startOffset()))

    def segment_names(self, table: Any) -> frozenset[str]:
        """Return the names of the segments that a table's data manager has."""
        return frozenset(
            str(jpype.JClass("java.lang.String").join("\n", table.segmentNames())).split("\n")
        ) - {""}
