"""Submits minion tasks like the controller does: as jobs in Helix's task queues in ZooKeeper.

The controller's REST API accepts only task types with a generator in Java. Jobs submitted here are in the
same queues, so the controller's ``/tasks/...`` endpoints and its console show them. No JVM is needed: a job
consists of two records, its own config and its entry in the queue's, as written by Helix's
``TaskDriver.enqueueJobs`` and Pinot's ``PinotHelixTaskResourceManager`` (1.0.4 and 0.11.0). The contract
tests compare the records with those of Helix's own builders.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from controller_client.clock import Clock, SystemClock
from controller_client.common.waiting import growing_pauses
from controller_client.errors import ConflictError, DataError, NotFoundError, OutcomeUnknownError
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["TaskQueues", "dag_with", "dag_without", "job_record", "queue_record"]

logger = logging.getLogger(__name__)

# Pinot 0.11's own submitTask allows one attempt, and a subtask whose minion died counts as an attempt: it
# would never run again, and the job would stay IN_PROGRESS. A subtask that *failed* is not repeated, because
# hosted minions report failures as final (see jvm_bridge.minion.adapters).
_ATTEMPTS_PER_TASK = 3
_NO_LIMIT = str(2**31 - 1)
_DAY_MS = str(24 * 3600 * 1000)
_FIRST_POLL_S, _LONGEST_POLL_S = 0.02, 0.1
_VISIBLE_TIMEOUT_S = 120.0


class TaskQueues:
    """The task queues of a cluster.

    Args:
        store: ZooKeeper.
        clock: The clock to wait with.
    """

    def __init__(self, store: PropertyStore, *, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()

    def submit(
        self,
        task_type: str,
        configs: Sequence[Mapping[str, str]],
        *,
        minion_tag: str,
        timeout_s: float,
        concurrent_per_instance: int,
    ) -> str:
        """Submit a job with a subtask for each of `configs`.

        Args:
            task_type: E.g. ``FileIngestionTask``.
            configs: Configuration of each subtask; readable by everyone, so it must not contain secrets.
            minion_tag: Only minions with this tag run it.
            timeout_s: Time limit of a subtask.
            concurrent_per_instance: Number of its subtasks that a minion runs at a time.

        Returns:
            The job's name, as used by ``/tasks/...``.

        Raises:
            DataError: The configurations do not fit into a znode.
            UnreachableError: ZooKeeper does not answer; no job runs.
            OutcomeUnknownError: A reply was lost, or no controller picked the job up; check the task's state.
        """
        queue = f"TaskQueue_{task_type}"
        name = f"Task_{task_type}_{uuid.uuid4()}_{round(self._clock.now() * 1000)}"
        job = f"{queue}_{name}"  # Helix's namespaced name
        record = job_record(
            job,
            queue,
            {f"{name}_{number}": {**entries} for number, entries in enumerate(configs)},
            command=task_type,
            minion_tag=minion_tag,
            timeout_s=timeout_s,
            concurrent_per_instance=concurrent_per_instance,
        )
        self._ensure_queue(queue)
        # The job's config comes first: Helix runs only jobs in the queue, so a config left by a crash never
        # runs.
        self._store.connection.create(self._config_path(job), record.to_bytes())
        self._change_dag(queue, lambda dag: dag_with(dag, job))
        self._wait_for(
            f"{name} was enqueued", lambda context: job in context.map_fields.get("JOB_STATES", {}), queue
        )
        logger.info("submitted %s: %d subtasks for minions tagged %s", name, len(configs), minion_tag)
        return name

    def delete(self, task_name: str) -> None:
        """Delete a job and its records, running or not; its running subtasks are cancelled.

        The controller's own deletion of a running job (``forceDelete``) leaves it in the queue, from which
        Helix removes it half an hour later: until then it is shown as IN_PROGRESS.

        Raises:
            NotFoundError: There is no such job.
        """
        task_type = task_name.removeprefix("Task_").partition("_")[0]
        queue = f"TaskQueue_{task_type}"
        job = f"{queue}_{task_name}"
        if not self._change_dag(queue, lambda dag: dag_without(dag, job)):
            raise NotFoundError(f"there is no task {task_name}", where=self._config_path(queue))
        with suppress(NotFoundError):
            self._store.connection.delete(self._config_path(job))
        with suppress(NotFoundError):
            self._store.delete(f"/TaskRebalancer/{job}", recursive=True)
        logger.info("deleted %s", task_name)

    def _ensure_queue(self, queue: str) -> None:
        path = self._config_path(queue)
        if not self._store.connection.exists(path):
            with suppress(ConflictError):  # another client is creating it
                self._store.connection.create(path, queue_record(queue).to_bytes())
        self._wait_for(f"the queue {queue} was created", lambda _context: True, queue)

    def _change_dag(self, queue: str, change: Callable[[str], str | None]) -> bool:
        """Change a queue's graph; return whether there was anything to change."""
        path = self._config_path(queue)

        def changed(present: ZNRecord | None) -> ZNRecord:
            if present is None:
                raise NotFoundError(f"there is no queue {queue}", where=path)
            try:
                dag = change(present.simple_fields["Dag"])
            except (ValueError, KeyError) as error:
                raise DataError(f"the queue {queue} has no readable job graph", where=path) from error
            if dag is None:
                return present
            return replace(present, simple_fields={**present.simple_fields, "Dag": dag})

        return self._store.change_at(path, changed).was_needed

    def _wait_for(self, what: str, condition: Callable[[ZNRecord], bool], queue: str) -> None:
        """Wait until the controller's Helix has recorded a change in the queue's context."""
        path = f"/TaskRebalancer/{queue}/Context"
        deadline = self._clock.monotonic() + _VISIBLE_TIMEOUT_S
        pauses_s = growing_pauses(_FIRST_POLL_S, _LONGEST_POLL_S)
        while True:
            context = self._store.get(path)
            if context is not None and condition(context.record):
                return
            if self._clock.monotonic() > deadline:
                raise OutcomeUnknownError(
                    f"{what}, but no controller picked it up within {_VISIBLE_TIMEOUT_S:.0f} s",
                    where=path,
                    remedy="check that a controller is running; the job starts once it is",
                )
            self._clock.sleep(next(pauses_s))

    def _config_path(self, resource: str) -> str:
        return f"/{self._store.cluster_name}/CONFIGS/RESOURCE/{resource}"


def job_record(
    job: str,
    queue: str,
    subtasks: Mapping[str, Mapping[str, str]],
    *,
    command: str,
    minion_tag: str,
    timeout_s: float,
    concurrent_per_instance: int,
) -> ZNRecord:
    """Return a job's config (Helix's ``JobConfig``), with the subtasks' configurations by id."""
    return ZNRecord(
        job,
        simple_fields={
            "ConcurrentTasksPerInstance": str(concurrent_per_instance),
            "DisableExternalView": "false",
            "Expiry": _DAY_MS,
            # A failing subtask must not end the others.
            "FailureThreshold": _NO_LIMIT,
            "IgnoreDependentJobFailure": "true",
            "InstanceGroupTag": minion_tag,
            "JobID": job,
            "MONITORING_DISABLED": "true",
            "MaxAttemptsPerTask": str(_ATTEMPTS_PER_TASK),
            "MaxForcedReassignmentsPerTask": "0",
            "RebalanceRunningTask": "false",
            "TimeoutPerPartition": str(round(timeout_s * 1000)),
            "WorkflowID": queue,
        },
        map_fields={
            name: {**configs, "TASK_COMMAND": command, "TASK_ID": name} for name, configs in subtasks.items()
        },
    )


def queue_record(queue: str) -> ZNRecord:
    """Return the config of an empty queue, as Pinot's controller creates it (Helix's ``WorkflowConfig``)."""
    return ZNRecord(
        queue,
        simple_fields={
            "AllowOverlapJobAssignment": "false",
            "Dag": json.dumps({"parentsToChildren": {}, "childrenToParents": {}, "allNodes": []}),
            "Expiry": _DAY_MS,
            "FailureThreshold": "0",
            "IsJobQueue": "true",
            "JobPurgeInterval": str(30 * 60 * 1000),
            "MONITORING_DISABLED": "true",
            "ParallelJobs": _NO_LIMIT,
            "TargetState": "START",
            "Terminable": "false",
            "WorkflowID": queue,
            "capacity": _NO_LIMIT,
        },
    )


def dag_with(text: str, job: str) -> str:
    """Append a job to a queue's graph (Helix's ``JobDag``), which is a chain, unless it is already there."""
    dag = json.loads(text)
    nodes, children, parents = dag["allNodes"], dag["parentsToChildren"], dag["childrenToParents"]
    if job in nodes:
        return text
    last = next((node for node in nodes if not children.get(node)), None)
    nodes.append(job)
    if last is not None:
        children[last] = [job]
        parents[job] = [last]
    return json.dumps(dag)


def dag_without(text: str, job: str) -> str | None:
    """Remove a job from a queue's graph and close the gap; None if it is not in the graph."""
    dag = json.loads(text)
    nodes, children, parents = dag["allNodes"], dag["parentsToChildren"], dag["childrenToParents"]
    if job not in nodes:
        return None
    nodes.remove(job)
    before, after = parents.pop(job, []), children.pop(job, [])
    for links, ends, others in ((children, before, after), (parents, after, before)):
        for end in ends:
            links[end] = [*(each for each in links[end] if each != job), *others]
            if not links[end]:
                del links[end]
    return json.dumps(dag)
