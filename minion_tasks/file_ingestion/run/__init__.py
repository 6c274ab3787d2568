"""A table's trigger: the run, its steps, its report, the end of a rejected session, and the cleanup."""

from minion_tasks.file_ingestion.checks.judgement import ChecksFailedError
from minion_tasks.file_ingestion.run.rejected import discard_rejected, publish_rejected
from minion_tasks.file_ingestion.run.trigger import run_scheduled, run_task
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport, RunTools

__all__ = [
    "ChecksFailedError",
    "FilesFailedError",
    "RunOutcome",
    "RunReport",
    "RunTools",
    "discard_rejected",
    "publish_rejected",
    "run_scheduled",
    "run_task",
]
