"""The parameters of a table's FileIngestionTask: their keys, how their texts are read, what fits together."""

from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams

__all__ = ["TASK_TYPE", "FileIngestionParams"]
