"""Minion tasks as the controller sees them (``/tasks``, based on Helix's task framework)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.errors import NotFoundError
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.transport import Transport

__all__ = ["ScheduledTasks", "TasksApi"]


_NOT_STARTED = "NOT_STARTED"


@dataclass(frozen=True)
class ScheduledTasks:
    """The tasks that the controller created on request.

    Attributes:
        tasks: Task type -> names of its new tasks; empty if there was nothing to do.
        errors: Why tasks were not created (Pinot 1.x).
    """

    tasks: Mapping[str, tuple[str, ...]]
    errors: tuple[str, ...] = ()


class TasksApi:
    """Resource group ``/tasks``.

    A *task* is a Helix job in the queue of its type (``Task_FileIngestionTask_1700000000000``), its
    *subtasks* are what minions run. States are Helix's TaskState of tasks (NOT_STARTED, IN_PROGRESS,
    COMPLETED, FAILED, STOPPED, TIMED_OUT ...) and TaskPartitionState of subtasks (RUNNING, COMPLETED,
    TASK_ERROR ...).
    """

    def __init__(self, transport: Transport, cluster: ClusterApi) -> None:
        self._transport = transport
        self._cluster = cluster

    def types(self) -> list[str]:
        """Return the task types that have a queue."""
        return sorted(self._transport.get_json("/tasks/tasktypes", list))

    def queues(self) -> list[str]:
        """Return the names of the queues (``TaskQueue_<type>``)."""
        # 0.11.0 has an endpoint for this, 1.5 does not; the name is the same in both.
        return [f"TaskQueue_{task_type}" for task_type in self.types()]

    def queue_state(self, task_type: str) -> str:
        """Return the state of a type's queue; NOT_STARTED until Helix has processed it.

        Raises:
            NotFoundError: The type has no queue.
        """
        try:
            return self._state(f"queue for the task type {task_type}", "tasks", task_type, "state")
        except NotFoundError:
            # Pinot's response is the same for a nonexistent queue and for one just created.
            if task_type in self.types():
                return _NOT_STARTED
            raise

    def names(self, task_type: str) -> list[str]:
        """Return the names of a type's tasks; empty for an unknown type."""
        # Not from ".../tasks", which returns 500 for a type without a queue.
        return sorted(self.states(task_type))

    def states(self, task_type: str) -> dict[str, str]:
        """Return a type's tasks with their states; empty for an unknown type."""
        try:
            return self._transport.get_json(path_of("tasks", task_type, "taskstates"), dict)
        except NotFoundError:  # the response of Pinot 1.x
            return {}

    def counts(self, task_type: str) -> dict[str, dict[str, int]]:
        """Return a type's tasks with the numbers of their subtasks by state."""
        return self._transport.get_json(path_of("tasks", task_type, "taskcounts"), dict)

    def state(self, task_name: str) -> str:
        """Return a task's state.

        Raises:
            NotFoundError: There is no such task.
        """
        return self._state(f"task {task_name}", "tasks", "task", task_name, "state")

    def subtask_states(self, task_name: str) -> dict[str, str | None]:
        """Return a task's subtasks with their states; empty for an unknown task with a well-formed name.

        The state of a subtask that is not assigned to a minion yet is None (Pinot 1.x).

        Raises:
            NotFoundError: It is not the name of a task.
        """
        try:
            return self._transport.get_json(path_of("tasks", "subtask", task_name, "state"), dict)
        except NotFoundError:
            # Pinot 1.x responds so for any unknown task, 0.11 only for names without a type.
            if "_" not in task_name:
                raise
            return {}

    def config(self, task_name: str) -> list[dict[str, Any]]:
        """Return the configs of a task's subtasks: ``taskType`` and the map ``configs`` of each.

        Raises:
            NotFoundError: There is no such task.
        """
        configs = self._transport.get_json(path_of("tasks", "task", task_name, "config"), list)
        if not configs:
            # The response of Pinot 1.x for an unknown task; an existing one has at least one subtask.
            raise NotFoundError(f"there is no task {task_name}")
        return configs

    def subtask_configs(self, task_name: str) -> dict[str, dict[str, Any]]:
        """Return the configs of a task's subtasks by subtask name; empty for an unknown task.

        Raises:
            NotFoundError: It is not the name of a task.
        """
        return self._transport.get_json(path_of("tasks", "subtask", task_name, "config"), dict)

    def debug(self, task_name: str) -> Mapping[str, Any]:
        """Return a task's times, counts and subtasks, each with its minion and error text.

        Raises:
            NotFoundError: There is no such task.
        """
        path = path_of("tasks", "task", task_name, "debug")
        info = self._transport.find_json(path, dict, params={"verbosity": "1"})
        if info is None:
            raise NotFoundError(f"there is no task {task_name}")
        return info

    def stop(self, task_type: str) -> None:
        """Stop a type's queue and its running tasks."""
        self._transport.request("PUT", path_of("tasks", task_type, "stop"))

    def resume(self, task_type: str) -> None:
        """Resume a stopped queue."""
        self._transport.request("PUT", path_of("tasks", task_type, "resume"))

    def delete_queue(self, task_type: str, *, force: bool = False) -> None:
        """Delete a type's queue with all of its tasks; the next task recreates it.

        Args:
            task_type: The type.
            force: Delete it even while Helix is working on it: its records in ZooKeeper are removed at once.

        Raises:
            RejectedError: The queue is not stopped.
            OutcomeUnknownError: The reply was lost.
        """
        self._transport.request(
            "DELETE", path_of("tasks", task_type), params={"forceDelete": str(force).lower()}
        )

    def schedule(self, task_type: str | None = None, table: str | None = None) -> ScheduledTasks:
        """Make the controller create tasks now, as it does on their schedules.

        The controller does not know the task types of Python-hosted minions.

        Args:
            task_type: Only tasks of this type; None: of all types.
            table: Only tasks of this table (name with type); None: of all tables.

        Raises:
            OutcomeUnknownError: The reply was lost; repeating the call may create tasks twice.
        """
        response = self._transport.request(
            "POST", "/tasks/schedule", params={"taskType": task_type, "tableName": table}
        )
        answer: dict[str, str | None] = parse_reply(response, dict, clean=self._transport.clean)
        # Pinot 1.x returns errors next to the types.
        errors = tuple(
            text for key in ("generationErrors", "schedulingErrors") if (text := answer.pop(key, ""))
        )
        names = {key: tuple((value or "").split(",")) if value else () for key, value in answer.items()}
        return ScheduledTasks(names, errors)

    def debug_type(self, task_type: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the tasks of a type in the form of :meth:`debug`; empty for a type without a queue."""
        path = path_of("tasks", task_type, "debug")
        return self._transport.get_json(path, dict, params={"verbosity": "1"})

    def delete(self, task_name: str, *, force: bool = False) -> None:
        """Delete a task; a running one only with ``force``."""
        self._transport.request(
            "DELETE", path_of("tasks", "task", task_name), params={"forceDelete": str(force).lower()}
        )

    def _state(self, what: str, *path: str) -> str:
        state = self._transport.find_json(path_of(*path), str)
        if state is None:  # the response of Pinot 1.5
            raise NotFoundError(f"there is no {what}")
        return state
