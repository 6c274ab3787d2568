"""The metrics of a hosted minion's subtasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from controller_client.clock import Clock, SystemClock
from controller_client.monitoring import Monitoring, catalogue

__all__ = ["SubtaskMetrics", "SubtaskOutcome"]


class SubtaskOutcome(StrEnum):
    """The outcome of a subtask."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Helix cancelled it: neither done nor failed, however it ended."""


class SubtaskMetrics:
    """Counts subtasks; used by the Helix task threads that run them.

    Args:
        monitoring: The metrics of the process.
        task_types: The task types for which the minion has executors.
        slots: Number of subtasks that it runs at once.
        clock: The clock.
    """

    def __init__(
        self, monitoring: Monitoring, task_types: Iterable[str], slots: int, clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._ended = monitoring.counter(catalogue.SUBTASKS)
        self._running = monitoring.gauge(catalogue.RUNNING_SUBTASKS)
        self._time = monitoring.counter(catalogue.SUBTASK_TIME)
        monitoring.gauge(catalogue.SUBTASK_SLOTS).set(slots)
        for task_type in task_types:
            self._running.labels(task_type)
            for outcome in SubtaskOutcome:
                self._ended.labels(task_type, outcome.value)

    @contextmanager
    def subtask(self, task_type: str, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Count a subtask that runs in this context; an exception counts as a failure.

        Args:
            task_type: Its task type.
            is_cancelled: Returns whether it was cancelled; called at its end.
        """
        started_s = self._clock.monotonic()
        self._running.labels(task_type).inc()
        outcome = SubtaskOutcome.FAILED
        try:
            yield
            outcome = SubtaskOutcome.DONE
        finally:
            if is_cancelled():
                outcome = SubtaskOutcome.CANCELLED
            self._running.labels(task_type).dec()
            self._time.labels(task_type).inc(self._clock.monotonic() - started_s)
            self._ended.labels(task_type, outcome.value).inc()
