"""The subtasks that want a minion, as gauges for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controller_client.helix.unfinished_subtasks import Unfinished

__all__ = ["SubtaskMetrics"]


class SubtaskMetrics(Collector):
    """Counts anew at each question.

    Args:
        look: Counts, by minion tag; called in a thread of the metrics server. What it raises becomes an
            answer with status 500: for who scales by it, no number is better than an old one.
    """

    def __init__(self, look: Callable[[], Mapping[str, Unfinished]]) -> None:
        self._look = look

    def describe(self) -> Iterable[Metric]:
        """Nothing: without it, the collector is asked when it is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the gauges."""
        waiting, running, unfinished = (
            GaugeMetricFamily(f"pinot_minion_subtasks_{state}", meaning, labels=["tag"])
            for state, meaning in (
                ("waiting", "Subtasks that no minion runs yet."),
                ("running", "Subtasks that minions run."),
                ("unfinished", "Subtasks that wait or run."),
            )
        )
        for tag, each in sorted(self._look().items()):
            waiting.add_metric([tag], each.waiting)
            running.add_metric([tag], each.running)
            unfinished.add_metric([tag], each.total)
        return waiting, running, unfinished
