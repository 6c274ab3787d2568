"""A table's trigger: the run, its steps, its report, rejected sessions, earlier versions, and the cleanup."""

from controller_client.publishing.checks.judgement import ChecksFailedError
from minion_tasks.file_ingestion.run.rejected import discard_rejected, publish_rejected
from minion_tasks.file_ingestion.run.rollback import follow, roll_back, table_versions
from minion_tasks.file_ingestion.run.trigger import run_scheduled, run_task
from minion_tasks.file_ingestion.run.types import FilesFailedError, HeldError, RunOutcome, RunReport, RunTools

__all__ = [
    "ChecksFailedError",
    "FilesFailedError",
    "HeldError",
    "RunOutcome",
    "RunReport",
    "RunTools",
    "discard_rejected",
    "follow",
    "publish_rejected",
    "roll_back",
    "run_scheduled",
    "run_task",
    "table_versions",
]
