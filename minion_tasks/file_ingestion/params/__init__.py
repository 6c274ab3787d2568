"""The parameters of a table's FileIngestionTask: keys, parsing, and checks of combinations."""

from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams

__all__ = ["TASK_TYPE", "FileIngestionParams"]
