"""The interface of engines, which turn file groups into staged segments, and the engine that uses minions.

`choose` finds a table's engine, including those of other packages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from controller_client.client import ControllerClient
from controller_client.clock import Clock
from controller_client.common.waiting import growing_pauses
from controller_client.errors import NotAppliedError, NotFoundError, OutcomeUnknownError
from controller_client.helix import TaskQueues
from controller_client.rest.instances import DRAINED
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.engine.subtask import subtasks_of
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams
from minion_tasks.file_ingestion.session.model import Session

logger = logging.getLogger(__name__)

MINION = "minion"
"""Name of the engine of this module."""

MINION_CHECK_S = 10.0
"""Seconds between checks for a live minion with the tag, which read the tags of all live instances."""

_STALLED_S = 60.0
"""A job that Helix leaves open is over after this long without a subtask that is or will be running."""

_FIRST_PAUSE_S = 0.05
_RUNNING = frozenset({"NOT_STARTED", "IN_PROGRESS"})
_ENDED = frozenset({"COMPLETED", "DROPPED", "ERROR", "STOPPED", "TASK_ABORTED", "TASK_ERROR", "TIMED_OUT"})

_END_REASONS = {
    "RUNNING": "it is still running",
    "TIMED_OUT": "it exceeded taskTimeoutSeconds",
    "DROPPED": "its minion left the cluster",
    "ERROR": "its minion does not support this task type or failed before the subtask began; see its log",
}
"""Reasons for the Helix state of a subtask, used if its minion reported none."""


class _Work(Enum):
    """What Helix reports about a job.

    RUNNING: a minion is running one of its subtasks. STALLED: the job is open, but no subtask is or will be
    running. Helix leaves a job in this condition if its subtasks were dropped more often than they may be
    retried. It also occurs briefly while a subtask moves from a dead minion to another.
    """

    ACTIVE = "active"
    RUNNING = "running"
    STALLED = "stalled"
    OVER = "over"


class NoMinionError(NotAppliedError):
    """No live minion has the tag that the subtasks require."""


class Engine(Protocol):
    """Runs the subtasks of a session; results are in the session's ledger, not in return values."""

    def name_of(self, params: FileIngestionParams) -> str:
        """Return the name of the engine that runs a table's subtasks."""
        ...

    def slots(self, params: FileIngestionParams) -> int:
        """Return how many subtasks can run in parallel now; at least 1."""
        ...

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Start a subtask for each sequence of groups and return the name of the job.

        The name starts with the engine's name and a colon, except for names assigned by Helix.
        """
        ...

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        """Wait until no subtask is running, whatever its result, or until `on_poll` reports that all is done.

        The subtasks may belong to a process that has ended. If they ended with it, this returns at once.
        """
        ...

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Return how each group's subtask ended, as described by the engine."""
        ...

    def cancel(self, task_name: str) -> None:
        """Cancel subtasks that have not started; running ones stop after their current file."""
        ...


@dataclass(frozen=True)
class EngineContext:
    """Everything needed to open an engine.

    Attributes:
        client: The controller.
        store: ZooKeeper.
        clock: The clock.
        spark_conf: Spark configuration, for engines that use it; may contain secrets.
        default_engine: The engine of tables whose parameters name none.
    """

    client: ControllerClient
    store: PropertyStore
    clock: Clock
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    default_engine: str = MINION


class MinionEngine:
    """Runs subtasks on Python-hosted minions by Helix' task queue; the controller's ``/tasks`` shows them.

    Args:
        client: The controller.
        store: ZooKeeper, to find live minions.
        clock: The clock, for pauses between polls.
        poll_interval_s: Seconds between polls of the state; the first ones are shorter.
    """

    def __init__(
        self,
        client: ControllerClient,
        store: PropertyStore,
        clock: Clock,
        *,
        poll_interval_s: float = 0.25,
    ) -> None:
        self._client = client
        self._store = store
        self._clock = clock
        self._poll_interval_s = poll_interval_s
        self._queues = TaskQueues(store, clock=clock)

    def name_of(self, _params: FileIngestionParams) -> str:
        """Return ``minion``."""
        return MINION

    def slots(self, params: FileIngestionParams) -> int:
        """Return the number of live minions with the tag, times the subtasks that each runs in parallel."""
        return max(1, len(self._live_tags().get(params.minion_tag, ())) * params.concurrent_per_instance)

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Enqueue one Helix job.

        A subtask's configuration contains only the table, the session with its attempt, and the groups: the
        controller shows it to everybody, so it must not contain file system properties. The job is enqueued
        even if no minion is live, since minions may be scaled by the length of the queue.
        """
        if params.minion_tag not in self._live_tags():
            logger.warning(
                "no live minion has the tag %r; the subtasks wait up to %.0f s for one (minionWait)",
                params.minion_tag,
                params.minion_wait_s,
            )
        configs = [subtask.to_configs() for subtask in subtasks_of(session, tasks)]
        name = self._queues.submit(
            TASK_TYPE,
            configs,
            minion_tag=params.minion_tag,
            timeout_s=params.task_timeout_s,
            concurrent_per_instance=params.concurrent_per_instance,
        )
        logger.info("session %s: %d subtasks submitted as %s", session.session_id, len(configs), name)
        return name

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        """Poll until the ledger or Helix reports that the job is over; Helix reports it later.

        Raises:
            NoMinionError: No minion with the tag was live for as long as ``minionWait``.
            NotAppliedError: The controller did not return the job's state for as long as
                ``taskTimeoutSeconds``, in which each subtask ends.
        """
        is_over = self.watch(task_name, params)
        pauses_s = growing_pauses(min(_FIRST_PAUSE_S, self._poll_interval_s), self._poll_interval_s)
        while not (on_poll() or is_over()):
            self._clock.sleep(next(pauses_s))

    def watch(self, task_name: str, params: FileIngestionParams) -> Callable[[], bool]:
        """Return a function that checks whether a job is over, to be polled; it raises as :meth:`wait` does.

        Args:
            task_name: The job.
            params: The parameters of its table's task.
        """
        minion_seen_s = work_seen_s = work_read_s = next_check_s = self._clock.monotonic()
        tags: Mapping[str, list[str]] = {}

        def is_over() -> bool:
            nonlocal minion_seen_s, work_seen_s, work_read_s, next_check_s, tags
            now_s = self._clock.monotonic()
            try:
                work, work_read_s = self._work(task_name), now_s
            except NotAppliedError as error:
                if now_s - work_read_s > params.task_timeout_s:
                    raise
                # The controller may be restarting; the job is in ZooKeeper and continues without it.
                logger.warning("could not read the state of %s from the controller: %s", task_name, error)
                work = _Work.ACTIVE
            if work is _Work.OVER:
                return True
            if now_s >= next_check_s:
                next_check_s = now_s + min(MINION_CHECK_S, params.minion_wait_s / 4)
                tags = self._live_tags()
            # A drained minion finishes its running subtasks and gets no more.
            if params.minion_tag in tags or (work is _Work.RUNNING and DRAINED in tags):
                minion_seen_s = now_s
            elif now_s - minion_seen_s > params.minion_wait_s:
                raise _no_minion(params, task_name, tags.get(DRAINED, ()))
            # Subtasks left by the last minion start over on the next one.
            if work is not _Work.STALLED or params.minion_tag not in tags:
                work_seen_s = now_s
            return now_s - work_seen_s > _STALLED_S

        return is_over

    def is_over(self, task_name: str) -> bool:
        """Check once whether no subtask of a job is or will be running.

        Raises:
            NotAppliedError: The controller did not return the job's state.
        """
        return self._work(task_name) in (_Work.OVER, _Work.STALLED)

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Read from the controller how the subtasks ended: minion, Helix state, the minion's own report."""
        try:
            subtasks = self._client.tasks.debug(task_name).get("subtaskInfos") or ()
        except NotAppliedError as error:
            logger.warning("could not read from the controller how the subtasks ended: %s", error)
            return {}
        ends = {}
        for subtask in subtasks:
            state, minion = subtask.get("state"), subtask.get("participant")
            reason = subtask.get("info") or _END_REASONS.get(
                state, "its minion reported no reason; see its log"
            )
            end = f"{state or 'not begun'} on {minion}: {reason}" if minion else "no minion accepted it"
            for number in subtask["taskConfig"]["configs"]["groups"].split(","):
                ends[int(number)] = end
        return ends

    def cancel(self, task_name: str) -> None:
        """Delete the job from the queue; a running subtask stops when it finds its session abandoned."""
        try:
            self._queues.delete(task_name)
        except NotFoundError:
            return
        except (NotAppliedError, OutcomeUnknownError) as error:
            # Optional: a running subtask ends by itself once it reads its session.
            logger.warning("Helix task %s could not be deleted: %s", task_name, error)

    def _work(self, task_name: str) -> _Work:
        try:
            if self._client.tasks.state(task_name) not in _RUNNING:
                return _Work.OVER
            states = self._client.tasks.subtask_states(task_name).values()
        except NotFoundError:
            return _Work.OVER
        if "RUNNING" in states:
            return _Work.RUNNING
        return _Work.STALLED if states and _ENDED.issuperset(states) else _Work.ACTIVE

    def _live_tags(self) -> Mapping[str, list[str]]:
        """Return the live instances by tag."""
        instances: dict[str, list[str]] = {}
        for name, tags in self._store.live_instance_tags().items():
            for tag in tags:
                instances.setdefault(tag, []).append(name)
        return instances


def _no_minion(params: FileIngestionParams, task_name: str, drained: Sequence[str]) -> NoMinionError:
    return NoMinionError(
        f"no live minion had the tag {params.minion_tag!r} for {params.minion_wait_s:.0f} s"
        + (f"; drained: {', '.join(drained)}" if drained else ""),
        where=task_name,
        expected="at least one Python-hosted minion",
        remedy="start one with 'pinotctl serve minion'"
        + (", or enable a drained one (PUT /instances/NAME/state?state=ENABLE)" if drained else "")
        + ", then run the task again; if minions are scaled from zero, increase minionWait to cover that",
    )
