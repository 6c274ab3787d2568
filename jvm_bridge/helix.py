"""Submit tasks into Helix as the controller does, with Pinot's own classes.

The controller's REST API takes only task types that have a generator in Java. What is submitted here stands
in the same queues, so the controller's ``/tasks/...`` endpoints and its console show it.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from controller_client.errors import NotFoundError, OutcomeUnknownError
from jvm_bridge.jvm import start_jvm
from jvm_bridge.zookeeper_address import check_reachable

__all__ = ["HelixTaskQueue"]

logger = logging.getLogger(__name__)

# Helix makes sure that a killed minion's subtask is given to another; Pinot's own default of one attempt
# concerns subtasks that failed.
_ATTEMPTS_PER_TASK = 1
_SUBMIT_PARAMETERS_BEFORE_ATTEMPTS = 4


class HelixTaskQueue:
    """A connection to the task queues of a cluster; a context manager.

    Args:
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Helix' name of the cluster.
    """

    def __init__(self, zookeeper_address: str, cluster_name: str) -> None:
        self._zookeeper_address = zookeeper_address
        self._cluster_name = cluster_name
        self._manager: Any = None
        self._resources: Any = None

    def __enter__(self) -> HelixTaskQueue:
        """Connect, starting this process' JVM if need be.

        Raises:
            SetupError: The JVM does not start.
            UnreachableError: ZooKeeper does not answer.
            NotFoundError: There is no such cluster.
        """
        check_reachable(self._zookeeper_address)
        start_jvm()
        import jpype

        helix = jpype.JPackage("org.apache.helix")
        name = f"pinot-plugins_{socket.gethostname()}_{os.getpid()}"
        manager = helix.HelixManagerFactory.getZKHelixManager(
            self._cluster_name, name, helix.InstanceType.ADMINISTRATOR, self._zookeeper_address
        )
        try:
            manager.connect()
        except jpype.JException as error:
            raise NotFoundError(
                f"Helix cannot join the cluster {self._cluster_name}: {error}",
                where=self._zookeeper_address,
                remedy="Check the cluster's name; a controller must have made it.",
            ) from error
        self._manager = manager
        resource_manager = jpype.JClass(
            "org.apache.pinot.controller.helix.core.minion.PinotHelixTaskResourceManager"
        )
        self._resources = resource_manager(None, helix.task.TaskDriver(manager))
        return self

    def __exit__(self, *_: object) -> None:
        manager, self._manager, self._resources = self._manager, None, None
        manager.disconnect()

    def submit(
        self,
        task_type: str,
        configs: Sequence[Mapping[str, str]],
        *,
        minion_tag: str,
        timeout_s: float,
        concurrent_per_instance: int,
    ) -> str:
        """Submit one job with a subtask for each of `configs`.

        Args:
            task_type: E.g. ``FileIngestionTask``.
            configs: Configuration of each subtask; everybody can read it, so no secrets.
            minion_tag: Only minions with this tag run it.
            timeout_s: Time a subtask may take.
            concurrent_per_instance: How many of its subtasks one minion runs at once.

        Returns:
            The job's name, as ``/tasks/...`` knows it.

        Raises:
            OutcomeUnknownError: Helix failed on the way; look at the task's state.
        """
        import jpype

        task_config = jpype.JClass("org.apache.pinot.core.minion.PinotTaskConfig")
        tasks = jpype.JClass("java.util.ArrayList")()
        for entries in configs:
            values = jpype.JClass("java.util.HashMap")()
            for key, value in entries.items():
                values.put(key, value)
            tasks.add(task_config(task_type, values))
        timeout_ms = jpype.JLong(round(timeout_s * 1000))
        parameters = [tasks, minion_tag, timeout_ms, jpype.JInt(concurrent_per_instance)]
        if self._takes_attempts():
            parameters.append(jpype.JInt(_ATTEMPTS_PER_TASK))
        try:
            self._resources.ensureTaskQueueExists(task_type)
            name = str(self._resources.submitTask(*parameters))
        except jpype.JException as error:
            raise OutcomeUnknownError(
                f"Submitting {len(configs)} subtasks of {task_type} failed: {error}",
                where=self._zookeeper_address,
                remedy=f"Look at 'pinotctl task' or GET /tasks/{task_type}/taskstates before submitting "
                f"again.",
            ) from error
        logger.info("submitted %s: %d subtasks for minions tagged %s", name, len(configs), minion_tag)
        return name

    def delete(self, task_name: str) -> None:
        """Delete a job and its records, running or not; its running subtasks are told to cancel."""
        self._resources.deleteTask(task_name, True)

    def _takes_attempts(self) -> bool:
        """Whether submitTask takes the number of attempts per subtask (newer than 0.11)."""
        overloads = self._resources.getClass().getMethods()
        counts = {m.getParameterCount() for m in overloads if m.getName() == "submitTask" and _tag_second(m)}
        return _SUBMIT_PARAMETERS_BEFORE_ATTEMPTS not in counts


def _tag_second(method: Any) -> bool:
    types = [str(kind.getSimpleName()) for kind in method.getParameterTypes()]
    return types[:2] == ["List", "String"]
