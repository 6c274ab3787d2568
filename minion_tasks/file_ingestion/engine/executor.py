"""The subtask's executor inside a Python-hosted minion."""

from __future__ import annotations

import threading

from jvm_bridge.minion import MinionContext, MinionTask
from minion_tasks.file_ingestion.engine.file_metrics import FileMetrics
from minion_tasks.file_ingestion.engine.subtask import Subtask, SubtaskCluster
from minion_tasks.file_ingestion.engine.subtask_run import run_subtask


def create(context: MinionContext) -> FileIngestionExecutor:
    """Create the executor of one subtask; called by the minion's Helix thread."""
    return FileIngestionExecutor(context)


class FileIngestionExecutor:
    """Runs one subtask in a Helix task thread of the minion's JVM."""

    def __init__(self, context: MinionContext) -> None:
        self._context = context
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Request a stop after the current files; called by another Helix thread."""
        self._cancelled.set()

    def execute(self, task: MinionTask) -> None:
        """Stage the files of the groups named in the task's configs.

        Raises:
            SubtaskFailedError: At least one file failed.
            NotAppliedError: The session no longer wants this subtask.
        """
        context = self._context
        run_subtask(
            Subtask.from_configs(task.configs),
            SubtaskCluster(
                context.controller,
                context.zookeeper_address,
                context.cluster_name,
                context.zookeeper_access,
            ),
            context.work_dir,
            self._cancelled.is_set,
            FileMetrics(context.monitoring).built,
        )
