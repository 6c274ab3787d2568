"""The extension point in Pinot 0.11: the rate limiter of consumers. All reflection is in this module.

``LLRealtimeSegmentDataManager`` gets its limiter from ``RealtimeConsumptionRateManager``, which is patched
before it is loaded: ``PauseLimiter.java`` wraps each limiter that it creates. Once a segment is released, its
batches no longer call Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.java_interface import overrides
from jvm_bridge.patched_classes import PatchedClasses, patching

__all__ = ["ConsumerLimiters"]

_REALTIME = "org.apache.pinot.core.data.manager.realtime"
_MANAGER = f"{_REALTIME}.RealtimeConsumptionRateManager"
_SEGMENT = f"{_REALTIME}.LLRealtimeSegmentDataManager"
_PACKAGE = "io.pinotplugins.v0_11.pause"
_LIMITER = f"{_PACKAGE}.PauseLimiter"
_PREDICATE = "java.util.function.Predicate"


class ConsumerLimiters:
    """Wraps Pinot's limiters, and reads fields of the data managers of consuming segments.

    Create it before the first consuming segment.

    Args:
        on_batch: Called in the consumer's thread with the thread's name, which is the segment's. Returns
            whether the segment is released; it is not called again for a released segment. Must not raise.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded the class.
        SetupError: This Java has no compiler.
    """

    def __init__(self, on_batch: Callable[[str], bool]) -> None:
        with patching(
            "the hook partition-pause cannot pause partitions in this version of Pinot",
            remedy="run the server without the hook partition-pause",
        ):
            load_java(JavaSources.of("server_hooks", _PACKAGE))
            # First: reflection on a class that refers to the limiter would load the class to be patched.
            classes = PatchedClasses("org.apache.pinot.spi.stream.StreamConfig")
            manager = classes.get(_MANAGER)
            manager.getDeclaredMethod("createRateLimiter").insertAfter(f"$_ = {_LIMITER}.before($_);")
            classes.load(manager)
            self._segment_class = jpype.JClass(_SEGMENT)
            segment = self._segment_class.class_
            self._stop_field = _field(segment, "_shouldStop")
            self._commit_field = _field(segment, "_forceCommitMessageReceived")
            jpype.JClass(_LIMITER).install(jpype.JObject(_Gate(on_batch), jpype.JClass(_PREDICATE)))

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


@jpype.JImplements(_PREDICATE, deferred=True)
class _Gate:
    def __init__(self, on_batch: Callable[[str], bool]) -> None:
        self._on_batch = on_batch

    @overrides
    def test(self, thread_name: Any) -> bool:
        """Ask the gate; called by ``PauseLimiter.java`` in a segment's consumer thread."""
        return self._on_batch(str(thread_name))
