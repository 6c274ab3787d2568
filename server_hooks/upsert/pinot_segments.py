"""Pinot 0.11's segments of a table, by reflection where they have no other access."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jpype

__all__ = ["consuming_start", "release_in_thread", "segment_names"]

_CONSUMING = "org.apache.pinot.core.data.manager.realtime.LLRealtimeSegmentDataManager"
_TABLE = "org.apache.pinot.core.data.manager.BaseTableDataManager"

_releasing = ThreadPoolExecutor(4, thread_name_prefix="upsert-release")


def consuming_start(manager: Any) -> int | None:
    """The offset that a consuming segment begins with; None for a segment that does not consume."""
    if not isinstance(manager, jpype.JClass(_CONSUMING)):
        return None
    return int(str(_field(_CONSUMING, "_startOffset").get(manager).toString()))


def segment_names(table: Any) -> frozenset[str]:
    """Names of the segments that a table's data manager has."""
    segments = _field(_TABLE, "_segmentDataManagerMap").get(table)
    text = str(jpype.JClass("java.lang.String").join("\n", segments.keySet()))
    return frozenset(text.split("\n")) - {""}


def release_in_thread(table: Any, manager: Any) -> None:
    """Release a segment in another thread: the last one to do so may wait for the segment's consumer."""
    _releasing.submit(table.releaseSegment, manager)


def _field(owner: str, name: str) -> Any:
    field = jpype.JClass(owner).class_.getDeclaredField(name)
    field.setAccessible(True)
    return field
