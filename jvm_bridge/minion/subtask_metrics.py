"""The subtasks of a hosted minion, as metrics of its process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from controller_client.clock import Clock, SystemClock
from controller_client.monitoring import Monitoring, catalogue

__all__ = ["SubtaskMetrics", "SubtaskOutcome"]


class SubtaskOutcome(StrEnum):
    """How a subtask ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Helix asked for its end: neither done nor failed, however it ended."""


class SubtaskMetrics:
    """Counts subtasks; used by the Helix task threads that run them.

    Args:
        monitoring: Of the process.
        task_types: Those that the minion has executors of.
        slots: How many subtasks it runs at once.
        clock: Time.
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
        """Count a subtask that runs within; what it raises makes it a failed one.

        Args:
            task_type: Its type.
            is_cancelled: Asked at its end.
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
