"""The extension point for upsert tables in Pinot 0.11: patches of its classes."""

from __future__ import annotations

from typing import Any

import jpype

from jvm_bridge.role_host import HostedServerView
from server_hooks.upsert.classes_0_11 import install, install_filters
from server_hooks.upsert.server_events import Listener

__all__ = ["PatchedServer"]

_CONSUMING = "org.apache.pinot.core.data.manager.realtime.LLRealtimeSegmentDataManager"
_TABLE = "org.apache.pinot.core.data.manager.BaseTableDataManager"


class PatchedServer:
    """Patches Pinot's own classes before they are loaded.

    See :class:`~server_hooks.upsert.extension_point.ExtensionPoint`.

    Args:
        listener: Called for segments.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded a class.
        SetupError: This Java has no compiler.
    """

    cuts_by_option = False

    def __init__(self, listener: Listener) -> None:
        install(listener)
        install_filters()

    def prepare(self, role: HostedServerView) -> None:
        """Do nothing: the classes are already patched."""

    def consuming_start(self, manager: Any) -> int | None:
        """Return the start offset of a consuming segment; None for a segment that does not consume."""
        if not isinstance(manager, jpype.JClass(_CONSUMING)):
            return None
        return int(str(_field(_CONSUMING, "_startOffset").get(manager).toString()))

    def segment_names(self, table: Any) -> frozenset[str]:
        """Return the names of the segments that a table's data manager has."""
        segments = _field(_TABLE, "_segmentDataManagerMap").get(table)
        text = str(jpype.JClass("java.lang.String").join("\n", segments.keySet()))
        return frozenset(text.split("\n")) - {""}


def _field(owner: str, name: str) -> Any:
    field = jpype.JClass(owner).class_.getDeclaredField(name)
    field.setAccessible(True)
    return field
