"""A table's trigger: the run, its steps, its report, and the cleanup."""

from minion_tasks.file_ingestion.run.trigger import run_scheduled, run_task
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport, RunTools

__all__ = ["FilesFailedError", "RunOutcome", "RunReport", "RunTools", "run_scheduled", "run_task"]
