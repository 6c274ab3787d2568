"""The sink of ``df.writeStream``: each epoch is committed exactly once.

An epoch's write id consists of the streaming query's id, which the checkpoint preserves, and the epoch's
number. After a failure Spark writes the same epoch again with the same rows, which is a no-op if it was
committed. Spark creates a new writer for the tasks and for the commit of each epoch, so they share data only
through messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from controller_client.errors import ConfigError
from spark_connectors.options import WriteOptions
from spark_connectors.write.plan import WritePlan

if TYPE_CHECKING:
    from spark_connectors.write.staged import StagedByTask

__all__ = ["PinotStreamWriter", "stream_plan"]


@dataclass
class StagedInEpoch(WriterCommitMessage):
    """The staged segments of a task of an epoch, and the write that they belong to."""

    staged: StagedByTask
    write_id: str
    nonce: str


class PinotStreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream's epochs; created on the driver for each epoch's tasks and again for its commit."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one Spark partition of an epoch; runs in a task's Python worker."""
        from spark_connectors.write.staging_task import stage

        context = TaskContext.get()
        query_id = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
        epoch = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
        if context is None or query_id is None or epoch is None:
            raise ConfigError(
                "Spark did not pass the query id and epoch to the task",
                expected="a micro-batch query with writeStream",
            )
        plan = replace(self._plan, write_id=f"{query_id}-{epoch}")
        return StagedInEpoch(stage(plan, iterator, context.partitionId()), plan.write_id, plan.nonce)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Publish an epoch; runs in a Python process of the driver."""
        from spark_connectors.write.commit import commit

        commit(_plan_of(self._plan, messages), [each.staged for each in _staged(messages)])

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Clean up an epoch; runs like the commit, after failed tasks or a failed commit."""
        from spark_connectors.write.commit import abort

        abort(_plan_of(self._plan, messages))


def stream_plan(
    options: WriteOptions, frame: StructType, *, overwrite: bool, checkpoint: str | None
) -> WritePlan:
    """Plan the write of an epoch.

    Args:
        options: The options of the write.
        frame: The stream's schema.
        overwrite: Whether the output mode is ``complete``.
        checkpoint: The query's checkpoint location. It determines the staging folder of all its epochs, since
            an epoch whose tasks all failed gives its commit no other information for the cleanup.

    Raises:
        ConfigError: The options, table or columns do not match, or the output mode is not ``append``.
    """
    if overwrite:
        raise ConfigError(
            "streams can only be written in output mode append", remedy="set outputMode('append')"
        )
    if options.write_id is not None:
        raise ConfigError(
            "'writeId' cannot be set for streams, since each epoch has its own id", remedy="remove it"
        )
    key = hashlib.sha256(checkpoint.encode()).hexdigest()[:16] if checkpoint else None
    return WritePlan.make(
        options, frame, overwrite=False, staging_key=f"stream-{key}" if key is not None else None
    )


def _staged(messages: Sequence[WriterCommitMessage | None]) -> list[StagedInEpoch]:
    return [message for message in messages if isinstance(message, StagedInEpoch)]


def _plan_of(plan: WritePlan, messages: Sequence[WriterCommitMessage | None]) -> WritePlan:
    """Return the plan of the epoch's tasks, which contains the names of their segments."""
    for message in _staged(messages):
        return replace(plan, write_id=message.write_id, nonce=message.nonce)
    return plan
