"""The message of a task to the commit, kept free of imports for building segments."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from controller_client.common.formats import Format
from controller_client.publishing.staged_segment import StagedSegment

__all__ = ["COMMIT_FORMAT", "StagedByTask"]

COMMIT_FORMAT = Format("the commit message of a task")


@dataclass
class StagedByTask(WriterCommitMessage):
    """The staged segments of a successful task, which Spark passes to the commit.

    Attributes:
        partition: Number of the task's Spark partition.
        segments: The segments, in the order of their rows.
        build_s: Seconds in Pinot's segment builder.
        upload_s: Seconds of the uploads to the staging folder.
        format: Format version of this message, since executors may run another release than the driver.
    """

    partition: int
    segments: tuple[StagedSegment, ...]
    build_s: float
    upload_s: float
    format: int = COMMIT_FORMAT.version

    def checked(self, where: str) -> StagedByTask:
        """Return the message itself.

        Raises:
            FormatVersionError: The executor runs a release whose messages this driver cannot read.
        """
        COMMIT_FORMAT.check_number(self.format, where)
        return self
