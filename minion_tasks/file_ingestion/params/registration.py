"""Which table a name means, and the task's parameters in its config."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.client import ControllerClient
from controller_client.common.names import TableName, TableType
from controller_client.common.references import has_reference
from controller_client.errors import ConfigError, RejectedError
from controller_client.rest.tables import TablesApi
from minion_tasks.file_ingestion.params.table_params import (
    CRON_SCHEDULE,
    SCHEDULE,
    TASK_TYPE,
    FileIngestionParams,
)

_NO_MINION = "Failed to find minion instances with tag"


def offline_table(client: ControllerClient, name: str) -> TableName:
    """Return the name with type of the OFFLINE table.

    Raises:
        ConfigError: It is a realtime table.
        NotFoundError: There is no such table.
    """
    given = TableName.parse(name) or TableName.of(name, TableType.OFFLINE)
    if given.type is TableType.REALTIME:
        raise _realtime(name)
    if client.tables.exists(given):
        return given
    if client.tables.exists(given.as_type(TableType.REALTIME)):
        raise _realtime(given.raw)
    raise client.tables.unknown(given)


def _realtime(name: str) -> ConfigError:
    return ConfigError(
        f"{name} is a realtime table",
        expected=f"an OFFLINE table: {TASK_TYPE} ingests files into these only",
    )


def load_params(client: ControllerClient, table: TableName) -> FileIngestionParams:
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


def register_task(tables: TablesApi, table: str, configs: Mapping[str, str]) -> Mapping[str, str]:
    """Put the task into a table's config.

    Pinot 1.3 and later refuse a ``schedule`` where no minion of the task's tag is there: with engine spark
    there never is one, and else it may come later. It is registered as ``cronSchedule`` then.

    A value with a reference gets a blank before it: Pinot has templates ``${NAME:default}`` of its own, and
    takes a value that begins and ends like one for one (0.11 returns ``KEY`` of ``${env:KEY}`` when it is
    asked for the config).

    Args:
        tables: The controller's tables.
        table: Name with type.
        configs: The task's parameters; they were checked.

    Returns:
        What is registered.

    Raises:
        NotFoundError: There is no such table.
        ConflictError: Somebody else wrote the table's config at the same time.
        RejectedError: Pinot finds it wrong.
    """
    configs = {key: f" {value.strip()}" if has_reference(value) else value for key, value in configs.items()}
    try:
        tables.set_task_config(table, TASK_TYPE, configs)
    except RejectedError as error:
        if SCHEDULE not in configs or _NO_MINION not in str(error):
            raise
        configs = {CRON_SCHEDULE if key == SCHEDULE else key: value for key, value in configs.items()}
        tables.set_task_config(table, TASK_TYPE, configs)
    return configs
