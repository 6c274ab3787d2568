"""Opens ZooKeeper by the options of a job, and takes the lock shared by all writes of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.zookeeper import PropertyStore, TableLock, process_name
from controller_client.zookeeper_access import ZooKeeperAccess
from spark_connectors.options import ReadOptions, WriteOptions

__all__ = ["locked", "open_zookeeper"]


@contextmanager
def open_zookeeper(options: ReadOptions | WriteOptions, client: ControllerClient) -> Iterator[PropertyStore]:
    """Open ZooKeeper.

    Raises:
        ConfigError: Its address is neither set nor reported by the controller, or a password must not go to
            the reported one.
    """
    access = options.zookeeper_access() or ZooKeeperAccess.from_env(address=options.zookeeper)
    address = options.zookeeper or client.cluster.zookeeper_for(access)
    if address is None:
        raise ConfigError(
            "the controller does not report the address of ZooKeeper", remedy="set the option 'zookeeper'"
        )
    with PropertyStore(address, client.cluster.name(), access=access) as store:
        yield store


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
