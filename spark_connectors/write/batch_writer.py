"""The batch writer class that Spark calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from spark_connectors.write.plan import WritePlan

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_connectors.write.staged import StagedByTask

__all__ = ["PinotBatchWriter"]


class PinotBatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame; created on the driver, pickled into the tasks and the commit."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one Spark partition; runs in a task's Python worker."""
        from spark_connectors.write.staging_task import stage

        context = TaskContext.get()
        return stage(self._plan, iterator, context.partitionId() if context is not None else 0)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the segments; runs in a Python process of the driver once all tasks have succeeded."""
        from spark_connectors.write.commit import commit

        commit(self._plan, _staged(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Clean up; runs like the commit, after failed tasks or a failed commit."""
        from spark_connectors.write.commit import abort

        abort(self._plan)


def _staged(messages: list[WriterCommitMessage | None]) -> list[StagedByTask | None]:
    return messages  # type: ignore[return-value]  # Spark passes what write() returned
