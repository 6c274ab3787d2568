"""Minion tasks as the controller sees them (``/tasks``; Helix' task framework underneath)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.errors import NotFoundError
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.transport import Transport, path_of

__all__ = ["ScheduledTasks", "TasksApi"]


_NOT_STARTED = "NOT_STARTED"


@dataclass(frozen=True)
class ScheduledTasks:
    """What the controller made when it was asked for tasks.

    Attributes:
        tasks: Task type -> names of its new tasks; none where nothing was to be done.
        errors: Why tasks were not made (Pinot 1.x).
    """

    tasks: Mapping[str, tuple[str, ...]]
    errors: tuple[str, ...] = ()


class TasksApi:
    """Resource group ``/tasks``.

    A *task* is a Helix job in the queue of its type (``Task_FileIngestionTask_1700000000000``), its
    *subtasks* are what minions run. States are Helix' TaskState of tasks (NOT_STARTED, IN_PROGRESS,
    COMPLETED, FAILED, STOPPED, TIMED_OUT ...) and TaskPartitionState of subtasks (RUNNING, COMPLETED,
    TASK_ERROR ...).
    """

    def __init__(self, transport: Transport, cluster: ClusterApi) -> None:
        self._transport = transport
        self._cluster = cluster

    def types(self) -> list[str]:
        """Return the task types that have a queue."""
        return sorted(self._transport.get_json("/tasks/tasktypes"))

    def queues(self) -> list[str]:
        """Return the names of the queues (``TaskQueue_<type>``)."""
        # Version 0.11.0 has an endpoint for it and 1.5 has not; the name is the same in both.
        return [f"TaskQueue_{task_type}" for task_type in self.types()]

    def queue_state(self, task_type: str) -> str:
        """Return the state of a type's queue; NOT_STARTED while Helix has not looked at it yet.

        Raises:
            NotFoundError: The type has no queue.
        """
        try:
            return self._state(f"queue for the task type {task_type}", "tasks", task_type, "state")
        except NotFoundError:
            # Pinot answers alike for a queue that is not there and for one that was made this moment.
            if task_type in self.types():
                return _NOT_STARTED
            raise

    def names(self, task_type: str) -> list[str]:
        """Return the names of a type's tasks; none for an unknown type."""
        # Not by ".../tasks", which answers 500 for a type without a queue.
        return sorted(self.states(task_type))

    def states(self, task_type: str) -> dict[str, str]:
        """Return a type's tasks with their states; none for an unknown type."""
        try:
            states = self._transport.get_json(path_of("tasks", task_type, "taskstates"))
        except NotFoundError:  # as Pinot 1.x answers
            states = None
        return dict(states or {})

    def counts(self, task_type: str) -> dict[str, dict[str, int]]:
        """Return a type's tasks with the numbers of their subtasks by state."""
        counts: dict[str, dict[str, int]] = self._transport.get_json(
            path_of("tasks", task_type, "taskcounts")
        )
        return counts or {}

    def state(self, task_name: str) -> str:
        """Return a task's state.

        Raises:
            NotFoundError: There is no such task.
        """
        return self._state(f"task {task_name}", "tasks", "task", task_name, "state")

    def subtask_states(self, task_name: str) -> dict[str, str | None]:
        """Return a task's subtasks with their states; none for an unknown task of a well-formed name.

        The state of one that Helix has given to no minion yet is None (Pinot 1.x).

        Raises:
            NotFoundError: The name is no task's.
        """
        try:
            states: dict[str, str | None] | None = self._transport.get_json(
                path_of("tasks", "subtask", task_name, "state")
            )
        except NotFoundError:
            # So Pinot 1.x answers for any unknown task; for 0.11 one without the type in its name is none.
            if "_" not in task_name:
                raise
            return {}
        return states or {}

    def config(self, task_name: str) -> list[dict[str, Any]]:
        """Return the configs of a task's subtasks: ``taskType`` and the map ``configs`` of each.

        Raises:
            NotFoundError: There is no such task.
        """
        configs: list[dict[str, Any]] | None = self._transport.get_json(
            path_of("tasks", "task", task_name, "config")
        )
        if not configs:
            # Pinot 1.x answers like that for an unknown task; one that there is has a subtask.
            raise NotFoundError(f"there is no task {task_name}")
        return configs

    def subtask_configs(self, task_name: str) -> dict[str, dict[str, Any]]:
        """Return the configs of a task's subtasks by the subtask's name; none for an unknown task.

        Raises:
            NotFoundError: The name is no task's.
        """
        configs: dict[str, dict[str, Any]] = self._transport.get_json(
            path_of("tasks", "subtask", task_name, "config")
        )
        return configs or {}

    def debug(self, task_name: str) -> Mapping[str, Any]:
        """Return a task's times, counts and subtasks, with the minion and the error text of each.

        Raises:
            NotFoundError: There is no such task.
        """
        info: Mapping[str, Any] | None = self._transport.get_json(
            path_of("tasks", "task", task_name, "debug"), params={"verbosity": "1"}
        )
        if info is None:
            # An unknown task is answered with 204.
            raise NotFoundError(f"there is no task {task_name}")
        return info

    def stop(self, task_type: str) -> None:
        """Stop a type's queue and its running tasks."""
        self._transport.request("PUT", path_of("tasks", task_type, "stop"))

    def resume(self, task_type: str) -> None:
        """Let a stopped queue go on."""
        self._transport.request("PUT", path_of("tasks", task_type, "resume"))

    def delete_queue(self, task_type: str, *, force: bool = False) -> None:
        """Delete a type's queue with all of its tasks; it comes again with the next task.

        Args:
            task_type: The type.
            force: Also while Helix works on it: its traces in ZooKeeper are removed at once.

        Raises:
            RejectedError: The queue is not stopped.
            OutcomeUnknownError: The reply was lost.
        """
        self._transport.request(
            "DELETE", path_of("tasks", task_type), params={"forceDelete": str(force).lower()}
        )

    def schedule(self, task_type: str | None = None, table: str | None = None) -> ScheduledTasks:
        """Have the controller make tasks now, as it does at the times of their schedules.

        It knows none of the types that only Python-hosted minions run.

        Args:
            task_type: Of this type; None: of all.
            table: Of this table (with type); None: of all.

        Raises:
            OutcomeUnknownError: The reply was lost; the same again may make tasks twice.
        """
        response = self._transport.request(
            "POST", "/tasks/schedule", params={"taskType": task_type, "tableName": table}
        )
        answer: dict[str, str | None] = dict(self._transport.json_of(response) or {})
        # Pinot 1.x has its errors beside the types.
        errors = tuple(
            text for key in ("generationErrors", "schedulingErrors") if (text := answer.pop(key, ""))
        )
        names = {key: tuple((value or "").split(",")) if value else () for key, value in answer.items()}
        return ScheduledTasks(names, errors)

    def debug_type(self, task_type: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the tasks of a type as :meth:`debug` has one; none for a type without a queue."""
        answer: Mapping[str, Mapping[str, Any]] | None = self._transport.get_json(
            path_of("tasks", task_type, "debug"), params={"verbosity": "1"}
        )
        return answer or {}

    def delete(self, task_name: str, *, force: bool = False) -> None:
        """Delete one task; a running one only by force."""
        self._transport.request(
            "DELETE", path_of("tasks", "task", task_name), params={"forceDelete": str(force).lower()}
        )

    def _state(self, what: str, *path: str) -> str:
        state: str | None = self._transport.get_json(path_of(*path))
        if state is None:
            # Pinot 1.5 answers with 204.
            raise NotFoundError(f"there is no {what}")
        return state
