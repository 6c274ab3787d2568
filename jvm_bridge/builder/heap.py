"""Recognizes a full Java heap in any error that it caused, and reports it as such.

The memory is free again once the build has ended with the error; the JVM continues to run.
"""

from __future__ import annotations

import traceback
from typing import Any

from controller_client.errors import HeapFullError
from jvm_bridge.builder.pinot_classes import java_class
from jvm_bridge.input_rules import FileFormat
from jvm_bridge.java_errors import JAVA_ERRORS, causes

__all__ = ["heap_full", "heap_full_by_rows", "max_heap_mib", "of_full_heap"]

_MIB = 1 << 20


def heap_full(error: BaseException) -> HeapFullError | None:
    """Return the error to raise instead of one that a full heap caused, or None for another cause.

    Args:
        error: The error; its causes count too, also those in Java.
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, HeapFullError):
            return cause
        if isinstance(cause, JAVA_ERRORS) and (text := of_full_heap(cause)):
            # The error may live on, and the frames of the build refer to what fills the heap.
            traceback.clear_frames(cause.__traceback__)
            return HeapFullError(
                f"Java's heap of {max_heap_mib()} MiB was full while a segment was built: {text}",
                expected="room for the distinct values of all segments that are built at the same time",
                remedy="use a larger heap (minion: --max-heap-mb; local cluster: --minion-max-heap-mb of"
                " 'pinotctl cluster up'; otherwise max_heap_mb of start_jvm), build fewer segments at once"
                " (minion: --concurrency), or smaller ones (maxNumRecordsPerSegment); the files are not the"
                " cause",
            )
        cause = cause.__cause__ or cause.__context__
    return None


def heap_full_by_rows(error: BaseException, file_format: FileFormat) -> HeapFullError | None:
    """Return the same as :func:`heap_full`, for rows that Pinot's reader read; always None for Avro.

    An Avro file can declare any size for a value or a block, so the heap may be full for that reason alone.
    """
    return None if file_format is FileFormat.AVRO else heap_full(error)


def max_heap_mib() -> int:
    """Return the size of this JVM's heap, MiB."""
    return int(java_class("java.lang.Runtime").getRuntime().maxMemory()) // _MIB


def of_full_heap(error: Any) -> str | None:
    """Return Java's message about its full heap if that caused a Java exception, or None."""
    full = java_class("java.lang.OutOfMemoryError")
    return next((str(cause.getMessage()) for cause in causes(error) if isinstance(cause, full)), None)
