"""A full Java heap: recognised in whatever error it ends in, and reported as such.

What the heap was full of is free again when the build has ended with the error: the JVM goes on.
"""

from __future__ import annotations

from typing import Any

import jpype

from controller_client.errors import HeapFullError
from jvm_bridge.builder.pinot_classes import java_class

__all__ = ["heap_full"]

_MIB = 1 << 20


def heap_full(error: BaseException) -> HeapFullError | None:
    """Return the error to raise in the place of one that a full heap has caused; None where none did.

    Args:
        error: What was caught; its causes count, those in Java too.
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, HeapFullError):
            return cause
        if isinstance(cause, jpype.JException) and (text := _text_of_java(cause)):
            heap_mib = int(java_class("java.lang.Runtime").getRuntime().maxMemory()) // _MIB
            return HeapFullError(
                f"Java's heap of {heap_mib} MiB was full while a segment was built: {text}",
                expected="room for the distinct values of all segments that are built at the same time",
                remedy="give it a larger heap (a minion: --max-heap-mb; else max_heap_mb of start_jvm), build"
                " fewer segments at once (a minion: --concurrency), or smaller ones"
                " (maxNumRecordsPerSegment); the files are not at fault",
            )
        cause = cause.__cause__ or cause.__context__
    return None


def _text_of_java(error: Any) -> str | None:
    full = java_class("java.lang.OutOfMemoryError")
    seen = 0
    cause: Any = error
    while cause is not None and seen < 20:  # a cause may be its own
        if isinstance(cause, full):
            return str(cause.getMessage())
        cause = cause.getCause()
        seen += 1
    return None
