"""Which table a name means, and the task's parameters in its config."""

from __future__ import annotations

from controller_client.client import ControllerClient
from controller_client.errors import ConfigError
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams


def offline_table(client: ControllerClient, table: str) -> str:
    """Return the name with type of the OFFLINE table.

    Raises:
        ConfigError: It is a realtime table.
        NotFoundError: There is no such table.
    """
    raw = table.removesuffix("_OFFLINE")
    if table.endswith("_REALTIME"):
        raise ConfigError(
            f"{table} is a realtime table",
            expected=f"an OFFLINE table: {TASK_TYPE} ingests files into these only",
        )
    if client.tables.exists(f"{raw}_OFFLINE"):
        return f"{raw}_OFFLINE"
    if client.tables.exists(f"{raw}_REALTIME"):
        raise ConfigError(
            f"{raw} is a realtime table",
            expected=f"an OFFLINE table: {TASK_TYPE} ingests files into these only",
        )
    raise client.tables.unknown(f"{raw}_OFFLINE")


def load_params(client: ControllerClient, table: str) -> FileIngestionParams:
    """Read and check the task's parameters from the table config.

    Raises:
        ConfigError: The table has no such task, or its parameters are wrong.
    """
    configs = client.tables.task_config(table, TASK_TYPE)
    if configs is None:
        raise ConfigError(
            f"the table {table} has no {TASK_TYPE}",
            expected=f"an entry in task.taskTypeConfigsMap.{TASK_TYPE} of its table config",
            remedy="add one with 'pinotctl task register'",
        )
    return FileIngestionParams.from_configs(configs)
