"""Engines: what turns a session's file groups into staged segments. The minion engine uses Helix subtasks.

`engines` finds the engine that a table wants, also among those of other packages.
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

MINION_LOOK_S = 10.0
"""How often a wait looks whether a fitting minion lives: that reads the tags of all live instances."""

_STALLED_S = 60.0
"""After so long without a subtask that runs or will, a job that Helix leaves open is over."""

_FIRST_PAUSE_S = 0.05
_RUNNING = frozenset({"NOT_STARTED", "IN_PROGRESS"})
_ENDED = frozenset({"COMPLETED", "DROPPED", "ERROR", "STOPPED", "TASK_ABORTED", "TASK_ERROR", "TIMED_OUT"})

_ENDED_SINCE = {
    "RUNNING": "it is still running",
    "TIMED_OUT": "it took longer than taskTimeoutSeconds",
    "DROPPED": "its minion has left the cluster",
    "ERROR": "its minion cannot run this task type, or failed before it began: see its log",
}
"""Why a subtask is in a state of Helix, where its minion gave no reason."""


class _Work(Enum):
    """What Helix reports of a job.

    RUNNING: a minion has a subtask of it. STALLED: it runs, but no subtask of it does or will. Helix leaves a
    job so whose subtasks were dropped more often than they may be tried. For a moment it is so too, while a
    subtask moves from a dead minion to another.
    """

    GOING_ON = "going on"
    RUNNING = "running"
    STALLED = "stalled"
    OVER = "over"


class NoMinionError(NotAppliedError):
    """No live minion has the tag that the subtasks are for."""


class Engine(Protocol):
    """Runs the subtasks of a session; the results are in the session's ledger, not in what is returned."""

    def slots(self, params: FileIngestionParams) -> int:
        """Return how many subtasks can run side by side now; at least 1."""
        ...

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Start a subtask for each sequence of groups; returns the name under which they are known.

        But for Helix' own names, it begins with the engine's name and a colon.
        """
        ...

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        """Wait until no subtask runs any more, whatever came of it, or `on_poll` reports that all is done.

        Subtasks of a process that has ended may be waited for: where they ended with it, this returns at
        once.
        """
        ...

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Report of each group's subtask how it ended, in the engine's words."""
        ...

    def cancel(self, task_name: str) -> None:
        """Take back what was not started; what runs stops after its present file."""
        ...


@dataclass(frozen=True)
class EngineContext:
    """What an engine is opened with.

    Attributes:
        client: The controller.
        store: ZooKeeper.
        clock: Time.
        spark_conf: Spark's configuration, for engines that use it; it may hold secrets.
    """

    client: ControllerClient
    store: PropertyStore
    clock: Clock
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)


class MinionEngine:
    """Subtasks on Python-hosted minions, in Helix' task queue: the controller's ``/tasks`` shows them.

    Args:
        client: The controller.
        store: ZooKeeper, for the minions that live.
        clock: Time between polls.
        poll_interval_s: How often the state is asked for, but for the first moments.
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

    def slots(self, params: FileIngestionParams) -> int:
        """Count the live minions of the tag, times what each of them runs side by side."""
        return max(1, len(self._live_tags().get(params.minion_tag, ())) * params.concurrent_per_instance)

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Enqueue one Helix job.

        A subtask's configuration names the table, the session with its attempt, and the groups, nothing more:
        it is shown by the controller to everybody, so it holds no file system properties. Where no minion
        lives it is enqueued all the same: what waits is what minions are scaled by.
        """
        if params.minion_tag not in self._live_tags():
            logger.warning(
                "no live minion has the tag %r: the subtasks wait up to %.0f s for one (minionWait)",
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
        """Poll until the ledger or Helix reports that the job is over; Helix is the later of the two.

        Raises:
            NoMinionError: No minion of the tag was live for as long as ``minionWait`` says.
        """
        is_over = self.watch(task_name, params)
        pauses_s = growing_pauses(min(_FIRST_PAUSE_S, self._poll_interval_s), self._poll_interval_s)
        while not (on_poll() or is_over()):
            self._clock.sleep(next(pauses_s))

    def watch(self, task_name: str, params: FileIngestionParams) -> Callable[[], bool]:
        """Return what tells whether a job is over; it is asked again and again, and raises as :meth:`wait`.

        Args:
            task_name: The job.
            params: Of its table's task.
        """
        minion_seen_s = work_seen_s = look_at_s = self._clock.monotonic()
        tags: Mapping[str, list[str]] = {}

        def is_over() -> bool:
            nonlocal minion_seen_s, work_seen_s, look_at_s, tags
            work = self._work(task_name)
            if work is _Work.OVER:
                return True
            now_s = self._clock.monotonic()
            if now_s >= look_at_s:
                look_at_s = now_s + min(MINION_LOOK_S, params.minion_wait_s / 4)
                tags = self._live_tags()
            # A drained minion ends what it runs, and gets nothing more.
            if params.minion_tag in tags or (work is _Work.RUNNING and DRAINED in tags):
                minion_seen_s = now_s
            elif now_s - minion_seen_s > params.minion_wait_s:
                raise _no_minion(params, task_name, tags.get(DRAINED, ()))
            # What the last minion has left begins anew on the next one.
            if work is not _Work.STALLED or params.minion_tag not in tags:
                work_seen_s = now_s
            return now_s - work_seen_s > _STALLED_S

        return is_over

    def is_over(self, task_name: str) -> bool:
        """Look once whether no subtask of a job runs or will."""
        return self._work(task_name) in (_Work.OVER, _Work.STALLED)

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Read how the subtasks ended from the controller: minion, Helix' state, the minion's report."""
        try:
            subtasks = self._client.tasks.debug(task_name).get("subtaskInfos") or ()
        except NotAppliedError as error:
            logger.warning("the controller does not report how the subtasks ended: %s", error)
            return {}
        ends = {}
        for subtask in subtasks:
            state, minion = subtask.get("state"), subtask.get("participant")
            reason = subtask.get("info") or _ENDED_SINCE.get(
                state, "its minion reported no reason: see its log"
            )
            end = f"{state or 'not begun'} on {minion}: {reason}" if minion else "no minion has accepted it"
            for number in subtask["taskConfig"]["configs"]["groups"].split(","):
                ends[int(number)] = end
        return ends

    def cancel(self, task_name: str) -> None:
        """Delete the job from the queue; a subtask that runs finds its session abandoned."""
        try:
            self._queues.delete(task_name)
        except NotFoundError:
            return
        except (NotAppliedError, OutcomeUnknownError) as error:
            # Only a courtesy to the minions: what still runs ends by itself when it sees its session.
            logger.warning("the task %s was not deleted: %s", task_name, error)

    def _work(self, task_name: str) -> _Work:
        try:
            if self._client.tasks.state(task_name) not in _RUNNING:
                return _Work.OVER
            states = self._client.tasks.subtask_states(task_name).values()
        except NotFoundError:
            return _Work.OVER
        except NotAppliedError as error:
            # The controller restarts; the job is in ZooKeeper and goes on without it.
            logger.warning("the controller does not report the state of %s now: %s", task_name, error)
            return _Work.GOING_ON
        if "RUNNING" in states:
            return _Work.RUNNING
        return _Work.STALLED if states and _ENDED.issuperset(states) else _Work.GOING_ON

    def _live_tags(self) -> Mapping[str, list[str]]:
        """Return the live instances by each of their tags."""
        found: dict[str, list[str]] = {}
        for name, tags in self._store.live_instance_tags().items():
            for tag in tags:
                found.setdefault(tag, []).append(name)
        return found


def _no_minion(params: FileIngestionParams, task_name: str, drained: Sequence[str]) -> NoMinionError:
    return NoMinionError(
        f"no live minion had the tag {params.minion_tag!r} for {params.minion_wait_s:.0f} s"
        + (f"; drained: {', '.join(drained)}" if drained else ""),
        where=task_name,
        expected="at least one Python-hosted minion",
        remedy="start one with 'pinotctl serve minion'"
        + (", or enable a drained one (PUT /instances/NAME/state?state=ENABLE)" if drained else "")
        + ", then run the task again; where minions are scaled from zero, set minionWait to what that takes",
    )
