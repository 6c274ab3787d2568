"""The Python function that Java calls in the thread of each consuming segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from jvm_bridge.java_interface import overrides

__all__ = ["java_gate"]

_CONSUMER = "java.util.function.Consumer"


def java_gate(on_start: Callable[[Any], None]) -> Any:
    """Return a function as Java's ``Consumer``; it must not raise."""
    return jpype.JObject(_Gate(on_start), jpype.JClass(_CONSUMER))


@jpype.JImplements(_CONSUMER, deferred=True)
class _Gate:
    def __init__(self, on_start: Callable[[Any], None]) -> None:
        self._on_start = on_start

    @overrides
    def accept(self, manager: Any) -> None:
        """Ask the gate; called in a segment's consumer thread."""
        self._on_start(manager)
