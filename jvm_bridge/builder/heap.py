"""A full Java heap: recognised in whatever error it ends in, and reported as such.

What the heap was full of is free again when the build has ended with the error: the JVM goes on.
"""

from __future__ import annotations

from typing import Any

import jpype

from controller_client.errors import HeapFullError
from jvm_bridge.builder.model import FileFormat
from jvm_bridge.builder.pinot_classes import java_class

__all__ = ["heap_full", "heap_full_by_rows", "max_heap_mib", "of_full_heap"]

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
        if isinstance(cause, jpype.JException) and (text := of_full_heap(cause)):
            return HeapFullError(
                f"Java's heap of {max_heap_mib()} MiB was full while a segment was built: {text}",
                expected="room for the distinct values of all segments that are built at the same time",
                remedy="give it a larger heap (a minion: --max-heap-mb; else max_heap_mb of start_jvm), build"
                " fewer segments at once (a minion: --concurrency), or smaller ones"
                " (maxNumRecordsPerSegment); the files are not at fault",
            )
        cause = cause.__cause__ or cause.__context__
    return None


def heap_full_by_rows(error: BaseException, file_format: FileFormat) -> HeapFullError | None:
    """As :func:`heap_full`, where Pinot's reader has read the rows; always None of Avro.

    An Avro file can name any size for a value or a block: a heap that is full while Pinot reads one says
    nothing of the heap.
    """
    return None if file_format is FileFormat.AVRO else heap_full(error)


def max_heap_mib() -> int:
    """Return the size of this JVM's heap, MiB."""
    return int(java_class("java.lang.Runtime").getRuntime().maxMemory()) // _MIB


def of_full_heap(error: Any) -> str | None:
    """Return what Java says of its full heap, where that is the cause of an exception of Java."""
    full = java_class("java.lang.OutOfMemoryError")
    seen = 0
    cause: Any = error
    while cause is not None and seen < 20:  # a cause may be its own
        if isinstance(cause, full):
            return str(cause.getMessage())
        cause = cause.getCause()
        seen += 1
    return None
