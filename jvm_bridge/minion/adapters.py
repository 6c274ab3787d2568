"""Pinot's Java interfaces for task executors, implemented by thin Python adapters.

They convert, call plain Python and translate the exception, nothing more.
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
_LONGEST_MESSAGE = 4000
# Pinot puts the minion's own credentials in here; our executors have theirs from the context.
_AUTH_TOKEN = "authToken"  # noqa: S105  # the name of a key
_TASK_ID = "TASK_ID"


class RunningTasks:
    """Counts the subtasks that run in this process, so that a stop can wait for them.

    Args:
        metrics: Told of each.
    """

    def __init__(self, metrics: SubtaskMetrics) -> None:
        self._metrics = metrics
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def subtask(self, task_type: str, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Count a subtask that runs within, as :meth:`SubtaskMetrics.subtask`."""
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
        """Wait for the last one to end; False when some still run after the time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count == 0, timeout_s)


def make_factory(
    task_type: str, factory: ExecutorFactory, context: MinionContext, running: RunningTasks
) -> Any:
    """Return a Java PinotTaskExecutorFactory for a Python factory; the JVM must run."""
    return _Factory(task_type, lambda: _Executor(task_type, factory, context, running))


@jpype.JImplements("org.apache.pinot.minion.executor.PinotTaskExecutorFactory", deferred=True)
class _Factory:
    """The Java side of an executor factory."""

    def __init__(self, task_type: str, create: Callable[[], Any]) -> None:
        self._task_type = task_type
        self._create = create

    @overrides
    def init(self, *_: Any) -> None:
        """Do nothing: the context was given before; its overloads differ between versions."""

    @overrides
    def getTaskType(self) -> str:  # noqa: N802  # Java's name
        """Return the task type; called by the starter."""
        return self._task_type

    @overrides
    def create(self) -> Any:
        """Make the executor of one subtask; called by a Helix thread.

        It must not fail: Helix would keep no reason. So the Python executor is made in executeTask.
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
            except Exception as error:  # a border: whatever Python raises becomes Java's
                logger.exception("%s %s failed", task.task_type, task.task_id)
                if not self._cancelled:
                    text = f"{type(error).__name__}: {error}"
                    # Fatal: Helix must not run it again. The attempts that a job has are for minions that
                    # died.
                    fatal = jpype.JClass("org.apache.pinot.minion.exception.FatalException")
                    raise fatal(text[:_LONGEST_MESSAGE]) from None
        if self._cancelled:
            # Neither done nor failed: when this minion stops, another one shall run it.
            cancelled = jpype.JClass("org.apache.pinot.minion.exception.TaskCancelledException")
            raise cancelled("cancelled")

    @overrides
    def cancel(self) -> None:
        """Ask it to end; called by another Helix thread."""
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
