"""A session's subtasks as one Spark job, run by a thread of the driver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext

from controller_client.clock import Clock
from minion_tasks.file_ingestion.engine.subtask import Subtask
from spark_connectors.faults import in_short
from spark_connectors.file_ingestion.worker import RunSubtask, SubtaskEnd

__all__ = ["SparkJob", "WatchedJob", "watch"]

logger = logging.getLogger(__name__)

_GRACE_S = 60.0


class SparkJob:
    """A Spark job with one task for each subtask.

    Args:
        context: The Spark context.
        name: Name of the job group.
        description: Shown in Spark's UI.
        subtasks: The subtasks.
        run: The function that tasks run.
    """

    def __init__(
        self,
        context: SparkContext,
        name: str,
        description: str,
        subtasks: Sequence[Subtask],
        run: RunSubtask,
    ) -> None:
        self.name = name
        self._context = context
        self._description = description
        self._subtasks = subtasks
        self._run_subtask = run
        self._cancelled = threading.Event()
        self._ends: Sequence[SubtaskEnd] = ()
        self._failure: str | None = None
        # Inheritable, so that the job runs in the caller's scheduler pool.
        self._thread = InheritableThread(self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, successfully or not."""
        return not self._thread.is_alive()

    def running_and_ended(self) -> tuple[int, int]:
        """Return the number of running Spark tasks and of ended ones."""
        try:
            tracker = self._context.statusTracker()
            stages = [
                tracker.getStageInfo(stage)
                for job in tracker.getJobIdsForGroup(self.name)
                for stage in getattr(tracker.getJobInfo(job), "stageIds", ())
            ]
        except (Py4JError, OSError):
            return 0, 0  # the driver's JVM has ended, and the job's thread is about to end
        known = [stage for stage in stages if stage is not None]
        return (
            sum(stage.numActiveTasks for stage in known),
            sum(stage.numCompletedTasks + stage.numFailedTasks for stage in known),
        )

    def cancel(self) -> None:
        """Cancel the job; Spark kills the workers of its tasks."""
        self._cancelled.set()
        try:
            self._context.cancelJobGroup(self.name)
        except (Py4JError, OSError) as error:
            logger.warning("the Spark job %s could not be cancelled: %s", self.name, error)

    def explain(self) -> Mapping[int, str]:
        """Return how the subtask of each group ended."""
        failure = self._failure or ("still running" if not self.is_over else None)
        ends = {}
        if failure is not None:
            ends = {number: failure for subtask in self._subtasks for number in subtask.groups}
        return ends | {number: end.words for end in self._ends for number in end.groups}

    def _run(self) -> None:
        """Run the job; the thread's function."""
        context = self._context
        try:
            context.setJobGroup(self.name, self._description)
            if self._cancelled.is_set():
                self._failure = "the Spark job was cancelled"
                return
            self._ends = (
                context.parallelize(self._subtasks, len(self._subtasks)).map(self._run_subtask).collect()
            )
        except Exception as error:  # noqa: BLE001  # reported with each file that has no result
            self._failure = f"the Spark job failed: {in_short(error)}"
            logger.warning("%s: %s", self.name, self._failure)


class WatchedJob(Protocol):
    """The part of a job that `watch` needs."""

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        ...

    def running_and_ended(self) -> tuple[int, int]:
        """Return the number of running tasks and of ended ones."""
        ...

    def cancel(self) -> None:
        """Cancel the job."""
        ...


def watch(
    job: WatchedJob,
    clock: Clock,
    on_poll: Callable[[], bool],
    *,
    task_timeout_s: float,
    poll_interval_s: float,
) -> None:
    """Wait for the end of a job, or until `on_poll` reports that all is done.

    A task starts no further file after its time-out. If a task does not finish a file either, the job is
    cancelled once no task has ended for that long: then each running task has exceeded its time-out.
    """
    ended, since_s = 0, clock.monotonic()
    while not job.is_over and not on_poll():
        running, ended_now = job.running_and_ended()
        now_s = clock.monotonic()
        if ended_now != ended or not running:
            ended, since_s = ended_now, now_s
        elif now_s - since_s > task_timeout_s + _GRACE_S:
            logger.warning("no Spark task has ended for %.0f s; cancelling the job", now_s - since_s)
            job.cancel()
            since_s = now_s
        clock.sleep(poll_interval_s)
