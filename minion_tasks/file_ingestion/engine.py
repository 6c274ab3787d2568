"""Engines: what turns a session's file groups into staged segments. The minion engine uses Helix subtasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from controller_client.client import ControllerClient
from controller_client.clock import Clock
from controller_client.errors import NotAppliedError, NotFoundError, OutcomeUnknownError
from controller_client.zookeeper import PropertyStore
from jvm_bridge.helix import HelixTaskQueue
from minion_tasks.file_ingestion.params import TASK_TYPE, FileIngestionParams
from minion_tasks.file_ingestion.session import Session

logger = logging.getLogger(__name__)

_RUNNING = frozenset({"NOT_STARTED", "IN_PROGRESS"})
_ENDED = frozenset({"COMPLETED", "DROPPED", "ERROR", "STOPPED", "TASK_ABORTED", "TASK_ERROR", "TIMED_OUT"})


class _Work(Enum):
    """What Helix says of a job. STALLED: it runs, but no subtask of it does or will.

    Helix leaves a job so whose subtasks were dropped more often than they may be tried. For a moment it is so
    too, while a subtask moves from a dead minion to another.
    """

    GOING_ON = "going on"
    STALLED = "stalled"
    OVER = "over"


class NoMinionError(NotAppliedError):
    """No live minion has the tag that the subtasks are for."""


class Engine(Protocol):
    """Runs the subtasks of a session; the results are in the session's ledger, not in what is returned."""

    def submit(self, session: Session, groups: Sequence[int], params: FileIngestionParams) -> str:
        """Start subtasks for the groups; returns the name under which they are known."""
        ...

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], None]) -> None:
        """Wait until no subtask runs any more, whatever came of it."""
        ...

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Say of each group's subtask how it ended, in the engine's words."""
        ...

    def cancel(self, task_name: str) -> None:
        """Take back what was not started; what runs stops after its present file."""
        ...


class MinionEngine:
    """Subtasks on Python-hosted minions, in Helix' task queue: the controller's ``/tasks`` shows them.

    A context manager, to be entered before the table's lock is taken: the start of this process' JVM holds up
    all its Python threads for seconds, the one among them that keeps the lock's ZooKeeper session alive.

    Args:
        client: The controller.
        store: ZooKeeper, for the minions that live.
        clock: Time between polls.
        poll_interval_s: How often the state is asked for.
        minion_grace_s: How long no fitting minion may live before the wait is given up.
    """

    def __init__(
        self,
        client: ControllerClient,
        store: PropertyStore,
        clock: Clock,
        *,
        poll_interval_s: float = 0.5,
        minion_grace_s: float = 60.0,
    ) -> None:
        self._client = client
        self._store = store
        self._clock = clock
        self._poll_interval_s = poll_interval_s
        self._minion_grace_s = minion_grace_s
        self._queue = HelixTaskQueue(store.zookeeper_address, store.cluster_name, clock=clock)

    def __enter__(self) -> MinionEngine:
        """Connect to Helix, starting the JVM if need be."""
        self._queue.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._queue.__exit__()

    def submit(self, session: Session, groups: Sequence[int], params: FileIngestionParams) -> str:
        """Enqueue one Helix job with a subtask for each group.

        A subtask's configuration names the table, the session and the group, nothing more: it is shown by
        the controller to everybody, so it holds no file system properties.

        Raises:
            NoMinionError: No minion could run it.
        """
        self._require_minion(params.minion_tag)
        configs = [
            {"tableName": session.table, "session": session.session_id, "group": str(number)}
            for number in groups
        ]
        name = self._queue.submit(
            TASK_TYPE,
            configs,
            minion_tag=params.minion_tag,
            timeout_s=params.task_timeout_s,
            concurrent_per_instance=params.concurrent_per_instance,
        )
        logger.info("session %s: %d subtasks submitted as %s", session.session_id, len(configs), name)
        return name

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], None]) -> None:
        """Poll the job until Helix says that it is over.

        Raises:
            NoMinionError: No fitting minion has lived for the grace time.
        """
        minion_seen_s = work_seen_s = self._clock.monotonic()
        while True:
            on_poll()
            work = self._work(task_name)
            now_s = self._clock.monotonic()
            if work is not _Work.STALLED:
                work_seen_s = now_s
            if work is _Work.OVER or now_s - work_seen_s > self._minion_grace_s:
                return
            if self._live_minions(params.minion_tag):
                minion_seen_s = now_s
            elif now_s - minion_seen_s > self._minion_grace_s:
                raise NoMinionError(
                    f"no minion tagged {params.minion_tag!r} lived in the last {self._minion_grace_s:.0f} s",
                    where=task_name,
                    remedy="start one with 'pinotctl serve minion', then run the task again",
                )
            self._clock.sleep(self._poll_interval_s)

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Read the subtasks' ends from the controller: the minion, Helix' state and what the minion said."""
        try:
            subtasks = self._client.tasks.debug(task_name).get("subtaskInfos", ())
        except NotAppliedError as error:
            logger.warning("the controller does not tell how the subtasks ended: %s", error)
            return {}
        ends = {}
        for subtask in subtasks:
            group = int(subtask["taskConfig"]["configs"]["group"])
            said = subtask.get("info") or "nothing was said"
            ends[group] = f"{subtask.get('state')} on {subtask.get('participant')}: {said}"
        return ends

    def cancel(self, task_name: str) -> None:
        """Delete the job from the queue; a subtask that runs finds its session abandoned."""
        try:
            self._client.tasks.delete(task_name, force=True)
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
            logger.warning("the controller does not tell the state of %s now: %s", task_name, error)
            return _Work.GOING_ON
        return _Work.STALLED if states and _ENDED.issuperset(states) else _Work.GOING_ON

    def _live_minions(self, tag: str) -> list[str]:
        return [name for name in self._store.live_instances() if tag in self._tags(name)]

    def _tags(self, instance: str) -> list[str]:
        try:
            return self._store.instance_tags(instance)
        except NotFoundError:
            return []  # it joined a moment ago and has no config yet, or it was dropped

    def _require_minion(self, tag: str) -> None:
        if not self._live_minions(tag):
            raise NoMinionError(
                f"no live minion has the tag {tag!r}",
                expected="at least one Python-hosted minion",
                remedy="start one with 'pinotctl serve minion'",
            )
