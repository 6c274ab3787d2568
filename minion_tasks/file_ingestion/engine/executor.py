"""The subtask's executor inside a Python-hosted minion, and its metrics of files."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from controller_client.monitoring import Monitoring, catalogue
from jvm_bridge.minion import MinionContext, MinionTask
from minion_tasks.file_ingestion.engine.staging_builder import BuildResult
from minion_tasks.file_ingestion.engine.subtask import Subtask, SubtaskCluster
from minion_tasks.file_ingestion.engine.subtask_run import run_subtask
from minion_tasks.file_ingestion.session.model import FileEntry

__all__ = ["FileMetrics"]


class FileMetrics:
    """Counts the results of files; used by the threads of subtasks.

    Args:
        monitoring: The monitoring of this process.
    """

    def __init__(self, monitoring: Monitoring) -> None:
        files = monitoring.counter(catalogue.MINION_FILES)
        self._staged, self._failed = files.labels("staged"), files.labels("failed")
        self._read_bytes = monitoring.counter(catalogue.MINION_READ_BYTES)
        self._rows = monitoring.counter(catalogue.MINION_ROWS)
        self._segment_bytes = monitoring.counter(catalogue.MINION_SEGMENT_BYTES)

    def built(self, entries: Sequence[FileEntry], built: BuildResult) -> None:
        """Count files that were built together, good ones and failures."""
        staged = set(built.staged.files) if built.staged else set()
        segments = built.staged.segments if built.staged else ()
        self._staged.inc(len(staged))
        self._failed.inc(len(built.failures))
        self._read_bytes.inc(sum(each.file.size_bytes for each in entries if each.number in staged))
        self._rows.inc(sum(segment.rows for segment in segments))
        self._segment_bytes.inc(sum(segment.segment_size_bytes for segment in segments))


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
