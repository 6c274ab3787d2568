"""How many subtasks of minion tasks wait and run now, by the tag of the minions that they are for.

Read from Helix' records in three round trips, however many tasks there are::

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
_BEGUN, _NOT_BEGUN = "IN_PROGRESS", "NOT_STARTED"
_STOPPED = "STOPPED"
_RUNNING = "RUNNING"
_ENDED = frozenset({"COMPLETED", "ERROR", "TASK_ABORTED", "TASK_ERROR", "TIMED_OUT"})


@dataclass(frozen=True)
class Unfinished:
    """Subtasks that have not ended.

    Attributes:
        waiting: No minion runs them yet, or any more: the minion that did has gone.
        running: A minion runs them.
    """

    waiting: int = 0
    running: int = 0

    @property
    def total(self) -> int:
        """What minions are needed for."""
        return self.waiting + self.running

    def __add__(self, other: Unfinished) -> Unfinished:
        return Unfinished(self.waiting + other.waiting, self.running + other.running)


def unfinished_subtasks(store: PropertyStore, task_type: str | None = None) -> Mapping[str, Unfinished]:
    """Return the subtasks by minion tag; a tag without any is left out.

    Tasks of a stopped queue that have not begun do not count. Subtasks whose minion died count as running
    until Helix gives them to another.

    Args:
        store: The cluster's property store.
        task_type: Of this type; None: of all.

    Raises:
        DataError: A record holds something else.
        UnreachableError: ZooKeeper does not answer.
    """
    jobs = _unfinished_jobs(store, task_type)
    paths = [_context(store, job) for job in jobs]
    paths += [f"/{store.cluster_name}/CONFIGS/RESOURCE/{job}" for job in jobs]
    records = read_records_at(store, paths)
    found: dict[str, Unfinished] = {}
    for context, config in zip(records[: len(jobs)], records[len(jobs) :], strict=True):
        if config is None:  # deleted meanwhile
            continue
        count = _count(context, len(config.map_fields))
        if count.total:
            tag = config.simple_fields.get("InstanceGroupTag", "")
            found[tag] = found.get(tag, Unfinished()) + count
    return found


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
        wanted = {_BEGUN} if is_stopped else {_BEGUN, _NOT_BEGUN}
        states = context.map_fields.get("JOB_STATES", {})
        jobs += [job for job, state in states.items() if state in wanted]
    return jobs


def _count(context: ZNRecord | None, subtasks: int) -> Unfinished:
    """Count the subtasks of a job; Helix' context has those that it has looked at."""
    states = [fields.get("STATE") for fields in context.map_fields.values()] if context else []
    running = states.count(_RUNNING)
    ended = sum(state in _ENDED for state in states)
    return Unfinished(waiting=max(0, subtasks - running - ended), running=running)


def _context(store: PropertyStore, name: str) -> str:
    return f"{_folder(store)}/{name}/Context"


def _folder(store: PropertyStore) -> str:
    return f"/{store.cluster_name}/PROPERTYSTORE/TaskRebalancer"
