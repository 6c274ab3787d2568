"""The schedules of all tables, read from ZooKeeper: all of them once, then only those that change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from controller_client.clock import Clock
from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError, DataError
from controller_client.helix.table_config import read_table_config, watch_table_names
from controller_client.zookeeper import PropertyStore, Watched
from minion_tasks.file_ingestion.params.table_params import CRON_SCHEDULE, SCHEDULE, TASK_TYPE

__all__ = ["Schedules"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class Schedules:
    """Watches the configs of the cluster's OFFLINE tables; for use by one thread.

    Nothing is read while nothing changes. A table whose config cannot be parsed is logged once and has no
    schedule until its config changes.

    Args:
        store: ZooKeeper.
        clock: The clock.
    """

    def __init__(self, store: PropertyStore, *, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock
        self._names = self._watched(lambda changed: watch_table_names(store, changed))
        self._tables: dict[TableName, Watched[str | None]] = {}

    def read(self) -> dict[TableName, str]:
        """Map each OFFLINE table that has a schedule for this task to its cron expression.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        names = [name for name in self._names.get() if name.type is TableType.OFFLINE]
        self._tables = {name: self._tables.get(name) or self._follow(name) for name in names}
        found = {name: table.get() for name, table in self._tables.items()}
        return {name: schedule for name, schedule in found.items() if schedule}

    def _follow(self, table: TableName) -> Watched[str | None]:
        def read(changed: Callable[[Any], None]) -> str | None:
            try:
                config = read_table_config(self._store, table, changed)
            except (ConfigError, DataError) as error:
                logger.error("%s is not scheduled: %s", table, error)
                return None
            configs = (config.task_config(TASK_TYPE) if config else None) or {}
            return configs.get(SCHEDULE) or configs.get(CRON_SCHEDULE)

        return self._watched(read)

    def _watched(self, read: Callable[[Callable[[Any], None]], _T]) -> Watched[_T]:
        return Watched(self._store.connection, read, lambda: None, clock=self._clock)
