"""The places in Pinot 1.5 where upsert tables are served: its own plug-in points; Java: ``v1_5.tables``.

==========================================================  ==================================================
property of the server                                      what ours does
==========================================================  ==================================================
``pinot.server.instance.table.data.manager.provider.class`` tells of segments; leaves the rows of a query's
                                                            version in them; gives rows the offset of their
                                                            message
``pinot.server.query.executor.class``                       asks before the server takes queries; a query
                                                            waits for its version before Pinot takes segments
==========================================================  ==================================================

A query names the version of each of its upsert tables in the option ``upsertVersions``, and a server turns it
into a bitmap of each segment's rows. So all of Pinot's queries see the rows of that version, with joins and
windows and whatever comes: nothing of the query's text is changed.
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
    """Our table managers and executor; see :class:`~server_hooks.upsert.place.Place`.

    Args:
        listener: Asked and told of segments.
    """

    cuts_by_option = True

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def prepare(self, role: HostedServerView) -> None:
        """Name ours in the configuration.

        Raises:
            UnsupportedError: This Pinot is built otherwise.
            ConfigError: Somebody else's classes are named there.
            SetupError: This Java has no compiler.
        """
        table_managers.install(role)
        table_managers.name_class(role, _EXECUTOR_KEY, _STOCK_EXECUTOR, _EXECUTOR)
        listen(self._listener)

    def consuming_start(self, manager: Any) -> int | None:
        """The offset that a consuming segment begins with; None for a segment that does not consume."""
        if not isinstance(manager, jpype.JClass(_SEGMENT)):
            return None
        return int(str(manager.startOffset()))

    def segment_names(self, table: Any) -> frozenset[str]:
        """Names of the segments that a table's data manager has."""
        return frozenset(
            str(jpype.JClass("java.lang.String").join("\n", table.segmentNames())).split("\n")
        ) - {""}
