"""A whole Pinot cluster on this machine, from the jars alone, for development, demonstrations and tests."""

from jvm_bridge.cluster_ports import HOST, ClusterPorts, KafkaPorts, ServerPorts
from jvm_bridge.local_cluster.cluster import LocalCluster, RoleStatus, UpResult, default_folder
from jvm_bridge.local_cluster.settings import read_properties

__all__ = [
    "HOST",
    "ClusterPorts",
    "KafkaPorts",
    "LocalCluster",
    "RoleStatus",
    "ServerPorts",
    "UpResult",
    "default_folder",
    "read_properties",
]
