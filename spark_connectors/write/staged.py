"""What a task hands to the commit: unpickled by a process of the driver that builds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from controller_client.common.formats import Format
from controller_client.publishing.staged_segment import StagedSegment

__all__ = ["COMMIT_FORMAT", "StagedByTask"]

COMMIT_FORMAT = Format("the commit message of a task")


@dataclass
class StagedByTask(WriterCommitMessage):
    """What a task that ended well has staged; Spark hands it to the commit.

    Attributes:
        partition: Spark's number of the task's partition.
        segments: In the order of their rows.
        build_s: Seconds in Pinot's segment builder.
        upload_s: Seconds of the uploads to the staging folder.
        format: Version of this message: executors may have another release than the driver.
    """

    partition: int
    segments: tuple[StagedSegment, ...]
    build_s: float
    upload_s: float
    format: int = COMMIT_FORMAT.version

    def checked(self, where: str) -> StagedByTask:
        """Return the message itself.

        Raises:
            FormatVersionError: The executor has another release than the driver, with another message.
        """
        COMMIT_FORMAT.check_number(self.format, where)
        return self
