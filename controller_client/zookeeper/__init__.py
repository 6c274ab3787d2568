"""Helix' state in ZooKeeper: records, property store, locks, task queues. Only this place imports kazoo."""

from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.lock import LockHolder, TableLock, process_name
from controller_client.zookeeper.property_store import PropertyStore, Versioned, segment_path
from controller_client.zookeeper.record import RECORD_LIMIT_BYTES, ZNRecord
from controller_client.zookeeper.record_at import read_record_at, read_records_at, write_own_record
from controller_client.zookeeper.task_queue import TaskQueues
from controller_client.zookeeper.wake import wake_helix

__all__ = [
    "RECORD_LIMIT_BYTES",
    "LockHolder",
    "PropertyStore",
    "TableLock",
    "TaskQueues",
    "Versioned",
    "ZNRecord",
    "ZooKeeperConnection",
    "process_name",
    "read_record_at",
    "read_records_at",
    "segment_path",
    "wake_helix",
    "write_own_record",
]
