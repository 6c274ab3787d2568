"""What a task executor is, and where the executors of this installation come from. No Java here."""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller_client.config import ControllerConfig

__all__ = [
    "ENTRY_POINT_GROUP",
    "ExecutorFactory",
    "MinionContext",
    "MinionTask",
    "TaskExecutor",
    "load_executors",
]

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "pinot_plugins.task_executors"


@dataclass(frozen=True)
class MinionContext:
    """Where a hosted minion runs: what every executor is given.

    Attributes:
        controller: The controller, with credentials.
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Helix' name of the cluster.
        instance_id: The minion's name in Helix, e.g. ``Minion_host_9514``.
        work_dir: A folder for temporary files; emptied when the minion starts.
    """

    controller: ControllerConfig
    zookeeper_address: str
    cluster_name: str
    instance_id: str
    work_dir: Path


@dataclass(frozen=True)
class MinionTask:
    """One subtask.

    Attributes:
        task_type: E.g. ``FileIngestionTask``.
        configs: What it was submitted with.
        task_id: Its name, e.g. ``Task_FileIngestionTask_<uuid>_<ms>_0``; empty before Pinot 1.0, which does
            not tell it.
    """

    task_type: str
    configs: Mapping[str, str]
    task_id: str


class TaskExecutor(Protocol):
    """Runs one subtask; each subtask gets an executor object of its own."""

    def execute(self, task: MinionTask) -> None:
        """Run the subtask; called in a Helix task thread of the minion's process.

        Whatever it raises makes the subtask TASK_ABORTED, for good, with the exception's text in Helix' task
        info, which everybody can read: no secrets in it. A subtask whose minion died runs again on another.
        """
        ...

    def cancel(self) -> None:
        """Ask the running subtask to end; called by another Helix thread, must return at once.

        However the subtask ends after that, it counts neither as done nor as failed.
        """
        ...


ExecutorFactory = Callable[[MinionContext], TaskExecutor]
"""Makes the executor of one subtask; called in the Helix task thread that will run it."""


def load_executors() -> dict[str, ExecutorFactory]:
    """Import the executors that installed packages register, by task type.

    One that cannot be imported is left out with a warning: the others shall run.
    """
    factories: dict[str, ExecutorFactory] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            factories[point.name] = point.load()
        except Exception as error:  # noqa: BLE001  # a module may raise anything while it is imported
            logger.warning(
                "task type %s is left out: %s cannot be imported: %s", point.name, point.value, error
            )
    return factories
