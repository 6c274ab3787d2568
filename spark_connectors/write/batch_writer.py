"""The class that Spark knows: what it calls where."""

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
    """Writes a DataFrame; made on the driver, pickled into the tasks and into the commit."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one Spark partition; runs in a task's Python worker."""
        from spark_connectors.write.staging_task import stage

        context = TaskContext.get()
        return stage(self._plan, iterator, context.partitionId() if context is not None else 0)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Bring all to the table; runs in a Python process of the driver when all tasks have ended well."""
        from spark_connectors.write.commit import commit

        commit(self._plan, _staged(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Leave nothing; runs like the commit, after failed tasks or a failed commit."""
        from spark_connectors.write.commit import abort

        abort(self._plan)


def _staged(messages: list[WriterCommitMessage | None]) -> list[StagedByTask | None]:
    return messages  # type: ignore[return-value]  # Spark hands out what write() returned
