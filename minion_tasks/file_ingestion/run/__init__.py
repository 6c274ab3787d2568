"""What a trigger of a table does: the run, its steps, what it reports, what is cleaned up after it."""

from minion_tasks.file_ingestion.run.trigger import run_scheduled, run_task
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport, RunTools

__all__ = ["FilesFailedError", "RunOutcome", "RunReport", "RunTools", "run_scheduled", "run_task"]
