"""Numbers of Python as gauges of Pinot's own metrics registry, so that they go where Pinot's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jpype

from jvm_bridge.java_interface import overrides

__all__ = ["gauge"]


def gauge(metrics: Any, name: str, value: Callable[[], int]) -> None:
    """Register a gauge.

    Args:
        metrics: Pinot's ``AbstractMetrics``, e.g. ``ServerMetrics``.
        name: The gauge's name; Pinot puts its prefix before it.
        value: Called in the thread that reads the metrics (JMX, Prometheus).
    """
    metrics.addCallbackGauge(name, _Callable(value))


@jpype.JImplements("java.util.concurrent.Callable", deferred=True)
class _Callable:
    def __init__(self, value: Callable[[], int]) -> None:
        self._value = value

    @overrides
    def call(self) -> Any:
        return jpype.JClass("java.lang.Long").valueOf(jpype.JLong(self._value()))
