"""Resolves table names, and reads and writes the task's parameters in a table config."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.client import ControllerClient
from controller_client.common.names import TableName, TableType
from controller_client.common.references import has_reference
from controller_client.errors import ConfigError, RejectedError
from controller_client.models import TableConfig
from controller_client.publishing.targets import check_target
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
        ConfigError: The name refers to a realtime table.
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
        expected=f"an OFFLINE table: {TASK_TYPE} supports no other type",
    )


def load_params(client: ControllerClient, table: TableName) -> FileIngestionParams:
    """Read and check the task's parameters from the table config.

    Raises:
        ConfigError: The table has no such task, or its parameters are invalid.
    """
    return _params_in(client.tables.get(table))


def load_params_to_run(client: ControllerClient, table: TableName) -> FileIngestionParams:
    """The same, for a run.

    Raises:
        ConfigError: Also if the task cannot fill the table, see :func:`check_table`.
        UnsupportedError: This Pinot cannot fill the table.
    """
    config = client.tables.get(table)
    params = _params_in(config)
    check_table(client, config, params)
    return params


def check_table(client: ControllerClient, config: TableConfig, params: FileIngestionParams) -> None:
    """Refuse a table that the task cannot fill, and checks of columns that it does not have.

    Raises:
        ConfigError: The table uses Pinot's own upsert, or has no such column.
        UnsupportedError: No segment can be built with one of its columns.
    """
    schema = client.schemas.of_table(config)
    check_target(config, schema, client.cluster.capabilities)
    params.checks.check_schema(schema)


def _params_in(config: TableConfig) -> FileIngestionParams:
    configs = config.task_config(TASK_TYPE)
    if configs is None:
        raise ConfigError(
            f"table {config.name_with_type} has no {TASK_TYPE}",
            expected=f"an entry in task.taskTypeConfigsMap.{TASK_TYPE} of its table config",
            remedy="add one with 'pinotctl task register'",
        )
    return FileIngestionParams.from_configs(configs)


def register_task(tables: TablesApi, table: str, configs: Mapping[str, str]) -> Mapping[str, str]:
    """Add the task to a table's config.

    Pinot 1.3 and later reject a ``schedule`` if no minion has the task's tag. With engine spark there never
    is such a minion, and with engine minion it may start later, so ``cronSchedule`` is registered instead.

    A value with a reference gets a leading blank: Pinot has its own templates ``${NAME:default}`` and treats
    a value that starts and ends like one as a template (for ``${env:KEY}``, Pinot 0.11 returns ``KEY`` in the
    config).

    Args:
        tables: The controller's tables.
        table: Name with type.
        configs: The task's parameters, already checked.

    Returns:
        The registered parameters.

    Raises:
        NotFoundError: There is no such table.
        ConflictError: Somebody else changed the table's config at the same time.
        RejectedError: Pinot rejects the config.
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
