"""Helix' state in ZooKeeper: records, the property store, locks. The only place that imports kazoo."""

from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.lock import LockHolder, TableLock
from controller_client.zookeeper.property_store import PropertyStore, Versioned
from controller_client.zookeeper.record import RECORD_LIMIT_BYTES, ZNRecord

__all__ = [
    "RECORD_LIMIT_BYTES",
    "LockHolder",
    "PropertyStore",
    "TableLock",
    "Versioned",
    "ZNRecord",
    "ZooKeeperConnection",
]
