"""Publishes values from Python as gauges in Pinot's own metrics registry."""

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
        name: Name of the gauge; Pinot adds its prefix.
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
