"""A folder of its own in the property store for each test."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from kazoo.client import KazooClient

from controller_client.zookeeper import PropertyStore
from tests.integration.zookeeper.proxy import ZooKeeperProxy
from tests.support.cluster import PinotCluster


@dataclass
class Folder:
    """A folder below PROPERTYSTORE that is deleted after the test."""

    zookeeper_address: str
    cluster_name: str
    store: PropertyStore
    path: str


def expire_session(store: PropertyStore) -> None:
    """Two connections of one session: closing one ends the session of both (kazoo's own tests do it so)."""
    twin = KazooClient(store.zookeeper_address, client_id=store.connection.kazoo().client_id)
    twin.start()
    twin.stop()
    twin.close()


@pytest.fixture
def folder(pinot: PinotCluster) -> Iterator[Folder]:
    path = f"/test_{uuid4().hex}"
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield Folder(pinot.zookeeper_address, pinot.cluster_name, store, path)
        if store.connection.exists(f"/{pinot.cluster_name}/PROPERTYSTORE{path}"):
            store.delete(path, recursive=True)


@pytest.fixture
def proxy(folder: Folder) -> Iterator[ZooKeeperProxy]:
    """A proxy for one test in front of ZooKeeper."""
    with ZooKeeperProxy(folder.zookeeper_address) as proxy:
        yield proxy
