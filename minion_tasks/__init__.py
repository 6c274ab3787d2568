"""Minion tasks for Apache Pinot: FileIngestionTask with consistent push, and its scheduler."""

from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams

__all__ = ["TASK_TYPE", "FileIngestionParams"]
