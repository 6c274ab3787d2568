"""The places in Pinot 0.11 where upsert tables are served; see :class:`~server_hooks.upsert.place.Place`."""

from __future__ import annotations

from typing import Any

import jpype

from jvm_bridge.role_host import HostedServerView
from server_hooks.upsert.classes_0_11 import install
from server_hooks.upsert.server_events import Listener
from server_hooks.upsert.version_filters_0_11 import install_filters

__all__ = ["ChangedServer"]

_CONSUMING = "org.apache.pinot.core.data.manager.realtime.LLRealtimeSegmentDataManager"
_TABLE = "org.apache.pinot.core.data.manager.BaseTableDataManager"


class ChangedServer:
    """Pinot's own classes, changed before they are loaded.

    Args:
        listener: Asked and told of segments.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or a class is in use already.
        SetupError: This Java has no compiler.
    """

    cuts_by_option = False

    def __init__(self, listener: Listener) -> None:
        install(listener)
        install_filters()

    def prepare(self, role: HostedServerView) -> None:
        """Nothing: the classes are changed."""

    def consuming_start(self, manager: Any) -> int | None:
        """The offset that a consuming segment begins with; None for a segment that does not consume."""
        if not isinstance(manager, jpype.JClass(_CONSUMING)):
            return None
        return int(str(_field(_CONSUMING, "_startOffset").get(manager).toString()))

    def segment_names(self, table: Any) -> frozenset[str]:
        """Names of the segments that a table's data manager has."""
        segments = _field(_TABLE, "_segmentDataManagerMap").get(table)
        text = str(jpype.JClass("java.lang.String").join("\n", segments.keySet()))
        return frozenset(text.split("\n")) - {""}


def _field(owner: str, name: str) -> Any:
    field = jpype.JClass(owner).class_.getDeclaredField(name)
    field.setAccessible(True)
    return field
