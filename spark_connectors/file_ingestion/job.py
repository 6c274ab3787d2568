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

__all__ = ["SparkJob", "Watched", "watch"]

logger = logging.getLogger(__name__)

_GRACE_S = 60.0


class SparkJob:
    """One Spark task for each subtask.

    Args:
        context: Spark's.
        name: The job group.
        description: What Spark's UI shows.
        subtasks: What is to be done.
        run: The function of the tasks.
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
        # Inheritable: the caller's pool of Spark's scheduler is the job's.
        self._thread = InheritableThread(self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, in whatever way."""
        return not self._thread.is_alive()

    def running_and_ended(self) -> tuple[int, int]:
        """Count Spark tasks that run now, and those that have ended."""
        try:
            tracker = self._context.statusTracker()
            stages = [
                tracker.getStageInfo(stage)
                for job in tracker.getJobIdsForGroup(self.name)
                for stage in getattr(tracker.getJobInfo(job), "stageIds", ())
            ]
        except (Py4JError, OSError):
            return 0, 0  # the driver's JVM is gone, and the job's thread is about to end
        known = [stage for stage in stages if stage is not None]
        return (
            sum(stage.numActiveTasks for stage in known),
            sum(stage.numCompletedTasks + stage.numFailedTasks for stage in known),
        )

    def cancel(self) -> None:
        """Cancel the job: Spark ends the workers of its tasks."""
        self._cancelled.set()
        try:
            self._context.cancelJobGroup(self.name)
        except (Py4JError, OSError) as error:
            logger.warning("the Spark job %s was not cancelled: %s", self.name, error)

    def explain(self) -> Mapping[int, str]:
        """Report of each group how its subtask ended."""
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


class Watched(Protocol):
    """What `watch` needs to see of a job."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        ...

    def running_and_ended(self) -> tuple[int, int]:
        """Count tasks that run now, and those that have ended."""
        ...

    def cancel(self) -> None:
        """Cancel it."""
        ...


def watch(
    job: Watched,
    clock: Clock,
    on_poll: Callable[[], bool],
    *,
    task_timeout_s: float,
    poll_interval_s: float,
) -> None:
    """Wait for the end of a job, or until `on_poll` reports that all is done.

    A task begins no further file after its time. One that does not come to the end of a file either is ended
    when no other has ended for as long: then each task that runs has run longer than it may.
    """
    ended, since_s = 0, clock.monotonic()
    while not job.is_over and not on_poll():
        running, ended_now = job.running_and_ended()
        now_s = clock.monotonic()
        if ended_now != ended or not running:
            ended, since_s = ended_now, now_s
        elif now_s - since_s > task_timeout_s + _GRACE_S:
            logger.warning("no Spark task has ended for %.0f s: the job is cancelled", now_s - since_s)
            job.cancel()
            since_s = now_s
        clock.sleep(poll_interval_s)
