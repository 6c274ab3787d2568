"""What a task hands to the commit: unpickled by a process of the driver that builds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from controller_client.publishing.staged_segment import StagedSegment

__all__ = ["StagedByTask"]


@dataclass
class StagedByTask(WriterCommitMessage):
    """What a task that ended well has staged; Spark hands it to the commit.

    Attributes:
        partition: Spark's number of the task's partition.
        segments: In the order of their rows.
        build_s: Seconds in Pinot's segment builder.
        upload_s: Seconds of the uploads to the staging folder.
    """

    partition: int
    segments: tuple[StagedSegment, ...]
    build_s: float
    upload_s: float
