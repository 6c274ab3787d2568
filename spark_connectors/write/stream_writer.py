"""The sink of ``df.writeStream``: each epoch is one commit, exactly once.

An epoch's write id is the streaming query's id, which the checkpoint keeps, and the epoch's number. After a
failure Spark writes the same epoch again with the same rows; one that was committed is then a no-op. Spark
makes a new writer for the tasks and for the commit of each epoch, so what they share goes with the messages.
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
    """What a task of an epoch has staged, and as part of which write."""

    staged: StagedByTask
    write_id: str
    nonce: str


class PinotStreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream's epochs; made anew on the driver for each epoch's tasks and for its commit."""

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
                "Spark does not pass the task its query and epoch",
                expected="a micro-batch query of writeStream",
            )
        plan = replace(self._plan, write_id=f"{query_id}-{epoch}")
        return StagedInEpoch(stage(plan, iterator, context.partitionId()), plan.write_id, plan.nonce)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Bring an epoch to the table; runs in a Python process of the driver."""
        from spark_connectors.write.commit import commit

        commit(_plan_of(self._plan, messages), [each.staged for each in _staged(messages)])

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave nothing of an epoch; runs like the commit, after failed tasks or a failed commit."""
        from spark_connectors.write.commit import abort

        abort(_plan_of(self._plan, messages))


def stream_plan(
    options: WriteOptions, frame: StructType, *, overwrite: bool, checkpoint: str | None
) -> WritePlan:
    """Plan an epoch's write.

    Args:
        options: Of the write.
        frame: The stream's schema.
        overwrite: Whether the output mode is ``complete``.
        checkpoint: The query's checkpoint location. All its epochs stage in one folder, named by it: an epoch
            whose tasks all failed gives its commit nothing else to clean up by.

    Raises:
        ConfigError: The options, the table or the columns do not fit, or the output mode is not ``append``.
    """
    if overwrite:
        raise ConfigError("a stream is written in output mode append", remedy="outputMode('append')")
    if options.write_id is not None:
        raise ConfigError(
            "'writeId' is not for streams: each epoch has an id of its own", remedy="leave it out"
        )
    key = hashlib.sha256(checkpoint.encode()).hexdigest()[:16] if checkpoint else None
    return WritePlan.make(
        options, frame, overwrite=False, staging_key=f"stream-{key}" if key is not None else None
    )


def _staged(messages: Sequence[WriterCommitMessage | None]) -> list[StagedInEpoch]:
    return [message for message in messages if isinstance(message, StagedInEpoch)]


def _plan_of(plan: WritePlan, messages: Sequence[WriterCommitMessage | None]) -> WritePlan:
    """Return the plan of the epoch's tasks; the names of their segments are in it."""
    for message in _staged(messages):
        return replace(plan, write_id=message.write_id, nonce=message.nonce)
    return plan
