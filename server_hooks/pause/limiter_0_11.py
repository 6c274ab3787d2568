"""The place in Pinot 0.11 where consumers ask before they index: the rate limiter. All reflection is in here.

``LLRealtimeSegmentDataManager`` gets its limiter from ``RealtimeConsumptionRateManager``: a constant that
does nothing, or, for a topic with a rate limit, an object of Pinot's own class, which cannot be replaced. So
this puts an object of ours in the constant's place before the first segment is made; a segment that goes free
gets Pinot's own back, and its batches do not come through Python any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from controller_client.errors import UnsupportedError
from jvm_bridge.java_interface import overrides

__all__ = ["LimiterPlace"]

_PACKAGE = "org.apache.pinot.core.data.manager.realtime"
_MANAGER = f"{_PACKAGE}.RealtimeConsumptionRateManager"
_LIMITER = f"{_MANAGER}$ConsumptionRateLimiter"
_SEGMENT = f"{_PACKAGE}.LLRealtimeSegmentDataManager"
_CONSTANT = "NOOP_RATE_LIMITER"


class LimiterPlace:
    """Puts ours in the place of Pinot's limiter, and reaches into the data managers of consuming segments.

    Args:
        on_batch: Called in the consumer's thread with the thread's name, which is the segment's; must not
            raise.

    Raises:
        UnsupportedError: This Pinot is built otherwise.
    """

    def __init__(self, on_batch: Callable[[str], None]) -> None:
        self._on_batch = on_batch
        try:
            self._segment_class = jpype.JClass(_SEGMENT)
            segment = self._segment_class.class_
            self._limiter_field = _field(segment, "_rateLimiter")
            self._stop_field = _field(segment, "_shouldStop")
            self._commit_field = _field(segment, "_forceCommitMessageReceived")
            constant = jpype.JClass(_MANAGER).class_.getDeclaredField(_CONSTANT)
        except (jpype.JException, TypeError) as error:
            raise UnsupportedError(
                f"partitions cannot be held in this version of Pinot: {error}",
                expected="Pinot 0.11",
                remedy="run the server without the hook partition-pause",
            ) from error
        self._constant = constant
        self._original: Any = None

    def install(self) -> None:
        """Replace the constant; before the first consuming segment is made."""
        constant = self._constant
        constant.setAccessible(True)
        self._original = constant.get(None)
        limiter = jpype.JObject(_Limiter(self._on_batch), jpype.JClass(_LIMITER))
        unsafe_field = jpype.JClass("sun.misc.Unsafe").class_.getDeclaredField("theUnsafe")
        unsafe_field.setAccessible(True)
        unsafe = unsafe_field.get(None)
        # A static final field: reflection refuses it, and the class's users have not been compiled yet.
        unsafe.putObject(unsafe.staticFieldBase(constant), unsafe.staticFieldOffset(constant), limiter)

    def must_stop(self, manager: Any) -> bool:
        """Whether Pinot told a consuming segment to stop."""
        return bool(self._stop_field.getBoolean(manager))

    def must_commit(self, manager: Any) -> bool:
        """Whether a consuming segment was told to commit."""
        return bool(self._commit_field.getBoolean(manager))

    def is_consuming(self, manager: Any) -> bool:
        """Whether a segment's data manager is that of a consuming segment."""
        return isinstance(manager, self._segment_class)

    def set_free(self, manager: Any) -> None:
        """Give a segment Pinot's own limiter."""
        self._limiter_field.set(manager, self._original)


def _field(owner: Any, name: str) -> Any:
    field = owner.getDeclaredField(name)
    field.setAccessible(True)
    return field


@jpype.JImplements(_LIMITER, deferred=True)
class _Limiter:
    def __init__(self, on_batch: Callable[[str], None]) -> None:
        self._on_batch = on_batch
        self._current_thread = jpype.JClass("java.lang.Thread").currentThread

    @overrides
    def throttle(self, _messages: Any) -> None:
        """Ask; called by a segment's consumer thread with each batch, empty ones as well."""
        self._on_batch(str(self._current_thread().getName()))
