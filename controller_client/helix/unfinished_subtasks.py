"""Counts waiting and running subtasks of minion tasks, by the tag of their minions.

Read from Helix's records in three round trips, however many tasks there are::

    /<cluster>/PROPERTYSTORE/TaskRebalancer                   one child per queue and per job
    .../TaskRebalancer/TaskQueue_<type>/Context               simpleFields.STATE, mapFields.JOB_STATES
    .../TaskRebalancer/TaskQueue_<type>_<job>/Context         mapFields.<number>.STATE of the subtasks
    /<cluster>/CONFIGS/RESOURCE/TaskQueue_<type>_<job>        simpleFields.InstanceGroupTag, the subtasks
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.helix.record_at import read_records_at
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["Unfinished", "unfinished_subtasks"]

_QUEUE = "TaskQueue_"
_JOB = "_Task_"
_STARTED, _NOT_STARTED = "IN_PROGRESS", "NOT_STARTED"
_STOPPED = "STOPPED"
_RUNNING = "RUNNING"
_ENDED = frozenset({"COMPLETED", "ERROR", "TASK_ABORTED", "TASK_ERROR", "TIMED_OUT"})


@dataclass(frozen=True)
class Unfinished:
    """Subtasks that have not ended.

    Attributes:
        waiting: Subtasks that no minion runs yet, or whose minion is gone.
        running: Subtasks that a minion is running.
    """

    waiting: int = 0
    running: int = 0

    @property
    def total(self) -> int:
        """The number of subtasks that need minions."""
        return self.waiting + self.running

    def __add__(self, other: Unfinished) -> Unfinished:
        return Unfinished(self.waiting + other.waiting, self.running + other.running)


def unfinished_subtasks(store: PropertyStore, task_type: str | None = None) -> Mapping[str, Unfinished]:
    """Return the unfinished subtasks by minion tag, without tags that have none.

    Tasks of a stopped queue that have not started do not count. Subtasks whose minion died count as running
    until Helix assigns them to another.

    Args:
        store: The cluster's property store.
        task_type: Only tasks of this type; None: of all types.

    Raises:
        DataError: A znode does not contain a record.
        UnreachableError: ZooKeeper does not answer.
    """
    jobs = _unfinished_jobs(store, task_type)
    paths = [_context(store, job) for job in jobs]
    paths += [f"/{store.cluster_name}/CONFIGS/RESOURCE/{job}" for job in jobs]
    records = read_records_at(store, paths)
    counts: dict[str, Unfinished] = {}
    for context, config in zip(records[: len(jobs)], records[len(jobs) :], strict=True):
        if config is None:  # deleted in the meantime
            continue
        count = _count(context, len(config.map_fields))
        if count.total:
            tag = config.simple_fields.get("InstanceGroupTag", "")
            counts[tag] = counts.get(tag, Unfinished()) + count
    return counts


def _unfinished_jobs(store: PropertyStore, task_type: str | None) -> list[str]:
    names = store.connection.children(_folder(store)) or []
    queues = [name for name in names if name.startswith(_QUEUE) and _JOB not in name]
    if task_type is not None:
        queues = [name for name in queues if name == f"{_QUEUE}{task_type}"]
    jobs: list[str] = []
    for context in read_records_at(store, [_context(store, queue) for queue in queues]):
        if context is None:
            continue
        is_stopped = context.simple_fields.get("STATE") == _STOPPED
        wanted = {_STARTED} if is_stopped else {_STARTED, _NOT_STARTED}
        states = context.map_fields.get("JOB_STATES", {})
        jobs += [job for job, state in states.items() if state in wanted]
    return jobs


def _count(context: ZNRecord | None, subtasks: int) -> Unfinished:
    """Count the subtasks of a job; Helix's context contains those it has processed."""
    states = [fields.get("STATE") for fields in context.map_fields.values()] if context else []
    running = states.count(_RUNNING)
    ended = sum(state in _ENDED for state in states)
    return Unfinished(waiting=max(0, subtasks - running - ended), running=running)


def _context(store: PropertyStore, name: str) -> str:
    return f"{_folder(store)}/{name}/Context"


def _folder(store: PropertyStore) -> str:
    return f"/{store.cluster_name}/PROPERTYSTORE/TaskRebalancer"
