"""Submit tasks into Helix as the controller does, with Pinot's own classes.

The controller's REST API takes only task types that have a generator in Java. What is submitted here stands
in the same queues, so the controller's ``/tasks/...`` endpoints and its console show it.
"""

from __future__ import annotations

import logging
import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from controller_client.clock import Clock, SystemClock
from controller_client.errors import NotFoundError, OutcomeUnknownError
from jvm_bridge.jvm import start_jvm
from jvm_bridge.zookeeper_address import check_reachable

__all__ = ["HelixTaskQueue"]

logger = logging.getLogger(__name__)

# Pinot's own submitTask of 0.11 allows one attempt, and a subtask whose minion died counts as an attempt: it
# would never run again and the job would stay IN_PROGRESS. So the job is built here. A subtask that *failed*
# is not repeated all the same: hosted minions report failures as final (see jvm_bridge.minion.adapters).
_ATTEMPTS_PER_TASK = 3
_ALL_MAY_FAIL = 2**31 - 1
_POLL_INTERVAL_S = 0.1
_VISIBLE_TIMEOUT_S = 30.0


class HelixTaskQueue:
    """A connection to the task queues of a cluster; a context manager.

    Args:
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Helix' name of the cluster.
        clock: The clock to wait with.
    """

    def __init__(self, zookeeper_address: str, cluster_name: str, *, clock: Clock | None = None) -> None:
        self._zookeeper_address = zookeeper_address
        self._cluster_name = cluster_name
        self._clock = clock or SystemClock()
        self._manager: Any = None
        self._driver: Any = None
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
        self._driver = helix.task.TaskDriver(manager)
        self._resources = resource_manager(None, self._driver)
        return self

    def __exit__(self, *_: object) -> None:
        manager, self._manager, self._driver, self._resources = self._manager, None, None, None
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

        name = f"Task_{task_type}_{uuid.uuid4()}_{round(self._clock.now() * 1000)}"
        helix_task = jpype.JPackage("org.apache.helix.task")
        subtasks = jpype.JClass("java.util.ArrayList")()
        for number, entries in enumerate(configs):
            values = jpype.JClass("java.util.HashMap")()
            for key, value in entries.items():
                values.put(key, value)
            subtasks.add(helix_task.TaskConfig(task_type, values, f"{name}_{number}", None))
        job = (
            helix_task.JobConfig.Builder()
            .addTaskConfigs(subtasks)
            .setInstanceGroupTag(minion_tag)
            .setTimeoutPerTask(jpype.JLong(round(timeout_s * 1000)))
            .setNumConcurrentTasksPerInstance(concurrent_per_instance)
            .setMaxAttemptsPerTask(_ATTEMPTS_PER_TASK)
            # One failing subtask must not end the others.
            .setFailureThreshold(_ALL_MAY_FAIL)
            .setIgnoreDependentJobFailure(True)
        )
        try:
            self._resources.ensureTaskQueueExists(task_type)
            self._driver.enqueueJob(f"TaskQueue_{task_type}", name, job)
            self._wait_visible(name)
        except jpype.JException as error:
            raise OutcomeUnknownError(
                f"Submitting {name} ({len(configs)} subtasks) failed: {error}",
                where=self._zookeeper_address,
                remedy=f"Look at GET /tasks/{task_type}/taskstates before submitting again.",
            ) from error
        logger.info("submitted %s: %d subtasks for minions tagged %s", name, len(configs), minion_tag)
        return name

    def delete(self, task_name: str) -> None:
        """Delete a job and its records, running or not; its running subtasks are told to cancel."""
        self._resources.deleteTask(task_name, True)

    def _wait_visible(self, name: str) -> None:
        """Wait until the controller's Helix has taken the job up, so that its state can be asked for."""
        deadline = self._clock.monotonic() + _VISIBLE_TIMEOUT_S
        while self._resources.getTaskState(name) is None:
            if self._clock.monotonic() > deadline:
                raise OutcomeUnknownError(
                    f"{name} was enqueued, but no controller took it up within {_VISIBLE_TIMEOUT_S:.0f} s",
                    where=self._zookeeper_address,
                    remedy="Check that a controller runs; the job starts when one does.",
                )
            self._clock.sleep(_POLL_INTERVAL_S)
