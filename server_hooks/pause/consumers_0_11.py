"""The extension point in Pinot 0.11: the thread of a consuming segment. All reflection is in this module.

``LLRealtimeSegmentDataManager.PartitionConsumer`` is that thread's code. It is patched before it is loaded,
to pass ``ConsumerGate.java`` before it consumes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.patched_classes import PatchedClasses, patching
from server_hooks.pause.java_gate import java_gate

__all__ = ["PatchedConsumers"]

_SEGMENT = "org.apache.pinot.core.data.manager.realtime.LLRealtimeSegmentDataManager"
_PACKAGE = "io.pinotplugins.v0_11.pause"
_GATE = f"{_PACKAGE}.ConsumerGate"


class PatchedConsumers:
    """Patches the thread of consuming segments, and reads fields of their data managers.

    See :class:`~server_hooks.pause.extension_point.ExtensionPoint`. Create it before the first consuming
    segment.

    Args:
        on_start: Called once per segment, in its consumer's thread, with the segment's data manager.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded the class.
        SetupError: This Java has no compiler.
    """

    def __init__(self, on_start: Callable[[Any], None]) -> None:
        with patching(
            "the hook partition-pause cannot pause partitions in this version of Pinot",
            remedy="run the server without the hook partition-pause",
        ):
            load_java(JavaSources.of("server_hooks", _PACKAGE))
            jpype.JClass(_GATE).install(java_gate(on_start))
            classes = PatchedClasses("org.apache.pinot.spi.stream.StreamConfig")
            consumer = classes.get(f"{_SEGMENT}$PartitionConsumer")
            consumer.getDeclaredMethod("run").insertBefore(f"{_GATE}.pass(this.this$0);")
            classes.load(consumer)
            self._segment_class = jpype.JClass(_SEGMENT)
            segment = self._segment_class.class_
            self._stop_field = _field(segment, "_shouldStop")
            self._commit_field = _field(segment, "_forceCommitMessageReceived")

    def must_stop(self, manager: Any) -> bool:
        """Return whether Pinot asked a consuming segment to stop."""
        return bool(self._stop_field.getBoolean(manager))

    def must_commit(self, manager: Any) -> bool:
        """Return whether a consuming segment was asked to commit."""
        return bool(self._commit_field.getBoolean(manager))

    def is_consuming(self, manager: Any) -> bool:
        """Return whether a segment's data manager is that of a consuming segment."""
        return isinstance(manager, self._segment_class)


def _field(owner: Any, name: str) -> Any:
    field = owner.getDeclaredField(name)
    field.setAccessible(True)
    return field
