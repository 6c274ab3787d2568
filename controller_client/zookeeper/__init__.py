"""Connections to ZooKeeper, records, the property store, locks. Only this package imports kazoo."""

from controller_client.zookeeper.compare_and_set import Change, Changed
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.holder import LockHolder, process_name
from controller_client.zookeeper.lease import Alone, Lease, LeaseState, Turn
from controller_client.zookeeper.lock import ClusterLock, TableLock
from controller_client.zookeeper.property_store import (
    PropertyStore,
    read_segment_records,
    segment_path,
    segments_path,
)
from controller_client.zookeeper.record import RECORD_LIMIT_BYTES, Versioned, ZNRecord, mentions
from controller_client.zookeeper.standing import Standing, read_standing
from controller_client.zookeeper.transaction import CreateNode, DeleteNode, Write
from controller_client.zookeeper.watched import Watched
from controller_client.zookeeper.znode import Children, Znode

__all__ = [
    "RECORD_LIMIT_BYTES",
    "Alone",
    "Change",
    "Changed",
    "Children",
    "ClusterLock",
    "CreateNode",
    "DeleteNode",
    "Lease",
    "LeaseState",
    "LockHolder",
    "PropertyStore",
    "Standing",
    "TableLock",
    "Turn",
    "Versioned",
    "Watched",
    "Write",
    "ZNRecord",
    "Znode",
    "ZooKeeperConnection",
    "mentions",
    "process_name",
    "read_segment_records",
    "read_standing",
    "segment_path",
    "segments_path",
]
