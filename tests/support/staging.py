"""Where FileIngestionTask stages the segments of a table on the test cluster."""

from __future__ import annotations

from controller_client.publishing.staged_segment import STAGING_FOLDER
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.cluster_id import cluster_id
from tests.support.cluster import PinotCluster


def staging_folder(pinot: PinotCluster, table: str) -> str:
    """Return the folder of a table, whose name is with type, below the deep store or ``outputDirURI``."""
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        return f"{STAGING_FOLDER}/{cluster_id(store)}/{table}"
