"""The lock shared by all writes of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore, TableLock, process_name
from spark_connectors.options import WriteOptions
from spark_connectors.zookeeper import open_zookeeper

__all__ = ["locked"]

_LOCK = "SparkWrite"
_LOCK_WAIT_S = 600.0


@contextmanager
def locked(options: WriteOptions, client: ControllerClient, table: TableName) -> Iterator[PropertyStore]:
    """Hold the lock of a table's writes, waiting up to 600 s for others; yield ZooKeeper.

    Raises:
        LockHeldError: Somebody else still holds the lock.
    """
    with open_zookeeper(options, client) as store, TableLock(store, table, _LOCK, process_name()) as lock:
        lock.acquire(_LOCK_WAIT_S)
        yield store
