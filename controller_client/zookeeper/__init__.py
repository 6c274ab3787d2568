"""Connections to ZooKeeper, records, the property store, locks. Only this package imports kazoo."""

from controller_client.zookeeper.compare_and_set import Change, Changed
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.lock import ClusterLock, LockHolder, TableLock, process_name
from controller_client.zookeeper.property_store import PropertyStore, segment_path
from controller_client.zookeeper.record import RECORD_LIMIT_BYTES, Versioned, ZNRecord

__all__ = [
    "RECORD_LIMIT_BYTES",
    "Change",
    "Changed",
    "ClusterLock",
    "LockHolder",
    "PropertyStore",
    "TableLock",
    "Versioned",
    "ZNRecord",
    "ZooKeeperConnection",
    "process_name",
    "segment_path",
]
