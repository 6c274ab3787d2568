"""The interface of task executors, and the executors of this installation; without Java."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controller_client.common.extras import missing_module
from controller_client.config import ControllerConfig
from controller_client.errors import SetupError
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import MINION
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = [
    "ENTRY_POINT_GROUP",
    "ExecutorFactory",
    "MinionContext",
    "MinionTask",
    "TaskExecutor",
    "load_executors",
]

ENTRY_POINT_GROUP = "pinot_plugins.task_executors"


@dataclass(frozen=True)
class MinionContext:
    """The environment of a hosted minion, passed to every executor.

    Attributes:
        controller: The controller, with credentials.
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Helix name of the cluster.
        instance_id: The minion's instance name in Helix, e.g. ``Minion_host_9514``.
        work_dir: A folder for temporary files; emptied when the minion starts.
        zookeeper_access: Python's credentials for ZooKeeper; None to read them from the environment.
        monitoring: The metrics of the process, for executors.
    """

    controller: ControllerConfig
    zookeeper_address: str
    cluster_name: str
    instance_id: str
    work_dir: Path
    zookeeper_access: ZooKeeperAccess | None = None
    monitoring: Monitoring = field(default_factory=lambda: Monitoring(MINION), repr=False)


@dataclass(frozen=True)
class MinionTask:
    """One subtask.

    Attributes:
        task_type: E.g. ``FileIngestionTask``.
        configs: The configs with which it was submitted.
        task_id: Its name, e.g. ``Task_FileIngestionTask_<uuid>_<ms>_0``; empty before Pinot 1.0, which does
            not provide it.
    """

    task_type: str
    configs: Mapping[str, str]
    task_id: str


class TaskExecutor(Protocol):
    """Runs one subtask; each subtask gets its own executor object."""

    def execute(self, task: MinionTask) -> None:
        """Run the subtask; called in a Helix task thread of the minion's process.

        Any exception permanently sets the subtask to TASK_ABORTED, with the exception's text in Helix's task
        info, which everybody can read, so it must not have secrets. If a minion dies, another one runs its
        subtasks again.
        """
        ...

    def cancel(self) -> None:
        """Ask the running subtask to end; called by another Helix thread, must return at once.

        After that the subtask counts neither as done nor as failed, however it ends.
        """
        ...


ExecutorFactory = Callable[[MinionContext], TaskExecutor]
"""Creates the executor of one subtask; called in the Helix task thread that will run it."""


def load_executors() -> dict[str, ExecutorFactory]:
    """Import the executors that installed packages register, by task type.

    Raises:
        SetupError: An executor cannot be imported. Without it each subtask of its type would fail, and Helix
            would not store the reason.
    """
    factories: dict[str, ExecutorFactory] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        what = f"the executor of {point.name}"
        try:
            factories[point.name] = point.load()
        except ModuleNotFoundError as error:
            raise missing_module(error, what, point.extras) from error
        except Exception as error:  # a module may raise anything while it is imported
            raise SetupError(
                f"{what} cannot be imported: {type(error).__name__}: {error}",
                where=point.value,
                remedy="repair the package that registers it, or uninstall it",
            ) from error
    return factories
