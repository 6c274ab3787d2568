"""Implements Pinot's Java interfaces for task executors with thin Python adapters.

They only convert arguments, call plain Python and translate exceptions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from jvm_bridge.java_interface import overrides
from jvm_bridge.minion.executors import ExecutorFactory, MinionContext, MinionTask, TaskExecutor
from jvm_bridge.minion.subtask_metrics import SubtaskMetrics

__all__ = ["RunningTasks", "make_factory"]

logger = logging.getLogger(__name__)

# Helix stores the text in a znode for each subtask.
_MAX_MESSAGE = 4000
# Pinot stores the minion's own credentials here; our executors get theirs from the context.
_AUTH_TOKEN = "authToken"  # noqa: S105  # the name of a key
_TASK_ID = "TASK_ID"


class RunningTasks:
    """Counts the running subtasks of this process, so that a stop can wait for them.

    Args:
        metrics: The metrics of subtasks.
    """

    def __init__(self, metrics: SubtaskMetrics) -> None:
        self._metrics = metrics
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def subtask(self, task_type: str, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Count a subtask that runs in this context, like :meth:`SubtaskMetrics.subtask`."""
        with self._changed:
            self._count += 1
        try:
            with self._metrics.subtask(task_type, is_cancelled):
                yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait_until_none(self, timeout_s: float) -> bool:
        """Wait for the last subtask to end; returns False if some are still running after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count == 0, timeout_s)


def make_factory(
    task_type: str, factory: ExecutorFactory, context: MinionContext, running: RunningTasks
) -> Any:
    """Return a Java PinotTaskExecutorFactory for a Python factory; the JVM must be running."""
    return _Factory(task_type, lambda: _Executor(task_type, factory, context, running))


@jpype.JImplements("org.apache.pinot.minion.executor.PinotTaskExecutorFactory", deferred=True)
class _Factory:
    """The Java side of an executor factory."""

    def __init__(self, task_type: str, create: Callable[[], Any]) -> None:
        self._task_type = task_type
        self._create = create

    @overrides
    def init(self, *_: Any) -> None:
        """Do nothing: the context is already set; the overloads differ between versions."""

    @overrides
    def getTaskType(self) -> str:  # noqa: N802  # Java's name
        """Return the task type; called by the starter."""
        return self._task_type

    @overrides
    def create(self) -> Any:
        """Create the executor of one subtask; called by a Helix thread.

        It must not fail, as Helix would not store the reason. So executeTask creates the Python executor.
        """
        return self._create()


@jpype.JImplements("org.apache.pinot.minion.executor.PinotTaskExecutor", deferred=True)
class _Executor:
    """The Java side of one subtask's executor."""

    def __init__(
        self, task_type: str, factory: ExecutorFactory, context: MinionContext, running: RunningTasks
    ) -> None:
        self._task_type = task_type
        self._factory = factory
        self._context = context
        self._running = running
        self._lock = threading.Lock()
        self._executor: TaskExecutor | None = None
        self._cancelled = False

    @overrides
    def executeTask(self, task_config: Any) -> None:  # noqa: N802  # Java's name
        """Run the subtask; called by a Helix task thread."""
        task = _task(self._task_type, task_config)
        with self._running.subtask(self._task_type, lambda: self._cancelled):
            try:
                self._run(task)
            except Exception as error:  # any Python exception becomes a Java exception
                logger.exception("%s %s failed", task.task_type, task.task_id)
                if not self._cancelled:
                    text = f"{type(error).__name__}: {error}"
                    # Fatal, so that Helix does not retry it: a job's attempts are for minions that died.
                    fatal = jpype.JClass("org.apache.pinot.minion.exception.FatalException")
                    raise fatal(text[:_MAX_MESSAGE]) from None
        if self._cancelled:
            # Neither done nor failed: after this minion has stopped, another one runs it.
            cancelled = jpype.JClass("org.apache.pinot.minion.exception.TaskCancelledException")
            raise cancelled("cancelled")

    @overrides
    def cancel(self) -> None:
        """Ask the subtask to end; called by another Helix thread."""
        with self._lock:
            self._cancelled = True
            executor = self._executor
        if executor is not None:
            executor.cancel()

    def _run(self, task: MinionTask) -> None:
        executor = self._factory(self._context)
        with self._lock:
            if self._cancelled:
                return
            self._executor = executor
        executor.execute(task)


def _task(task_type: str, task_config: Any) -> MinionTask:
    configs = {str(entry.getKey()): str(entry.getValue()) for entry in task_config.getConfigs().entrySet()}
    configs.pop(_AUTH_TOKEN, None)
    return MinionTask(task_type, configs, task_id=configs.pop(_TASK_ID, ""))
