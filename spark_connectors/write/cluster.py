"""Connections of a write to the cluster, and the lock that writes of a table share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.zookeeper import PropertyStore, TableLock, process_name
from spark_connectors.options import WriteOptions

__all__ = ["locked", "open_zookeeper"]

_LOCK = "SparkWrite"
_LOCK_WAIT_S = 600.0


@contextmanager
def open_zookeeper(options: WriteOptions, client: ControllerClient) -> Iterator[PropertyStore]:
    """Open ZooKeeper.

    Raises:
        ConfigError: Its address is neither set nor reported by the controller.
    """
    address = options.zookeeper or client.cluster.zookeeper_address()
    if address is None:
        raise ConfigError(
            "the controller does not report its ZooKeeper's address", remedy="set the option 'zookeeper'"
        )
    with PropertyStore(address, client.cluster.name()) as store:
        yield store


@contextmanager
def locked(options: WriteOptions, client: ControllerClient, table: TableName) -> Iterator[PropertyStore]:
    """Hold the lock of a table's writes, waiting up to 600 s while others do; gives ZooKeeper.

    Raises:
        LockHeldError: Somebody else still holds it.
    """
    with open_zookeeper(options, client) as store, TableLock(store, table, _LOCK, process_name()) as lock:
        lock.acquire(_LOCK_WAIT_S)
        yield store
