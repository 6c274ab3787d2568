"""A subtask inside a Python worker of a Spark executor."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from controller_client.clock import Clock, SystemClock
from minion_tasks.file_ingestion.engine.subtask import Subtask, SubtaskCluster
from spark_connectors.work_dir import work_dir

__all__ = ["RunSubtask", "SubtaskEnd"]


@dataclass(frozen=True)
class SubtaskEnd:
    """How a subtask ended, reported for groups without a result in the session's ledger.

    Attributes:
        groups: Its groups.
        words: The machine, and its report.
    """

    groups: tuple[int, ...]
    words: str


@dataclass(frozen=True)
class RunSubtask:
    """The function of the Spark job, pickled into each of its tasks.

    It contains the controller's credentials, but no data of the table: a worker reads the task's parameters,
    including the secrets of file systems, from the controller.

    Attributes:
        cluster: How the worker reaches the cluster.
        timeout_s: Seconds after which no further file is started.
        clock: The clock.
    """

    cluster: SubtaskCluster
    timeout_s: float
    clock: Clock = field(default_factory=SystemClock, compare=False, repr=False)

    def __call__(self, subtask: Subtask) -> SubtaskEnd:
        """Run a subtask; called by a Spark task in its Python worker.

        It never raises an error, since Spark would then end the whole job with all other subtasks.
        """
        try:
            self._run(subtask)
            words = "done"
        except Exception as error:  # noqa: BLE001  # reported by the driver, for each file without a result
            words = f"{type(error).__name__}: {error}"
        return SubtaskEnd(subtask.groups, f"Spark task on {socket.gethostname()}: {words}")

    def _run(self, subtask: Subtask) -> None:
        # Imported here, since the driver needs no JVM in its Python process.
        from jvm_bridge.jvm import start_jvm
        from minion_tasks.file_ingestion.engine.subtask_run import run_subtask

        deadline_s = self.clock.monotonic() + self.timeout_s
        start_jvm(is_short_lived=True)
        run_subtask(subtask, self.cluster, work_dir(), lambda: self.clock.monotonic() > deadline_s)
