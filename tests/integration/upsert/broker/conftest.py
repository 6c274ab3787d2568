from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.broker.versioned_table import VersionedTable
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka
from tests.support.pinot_services import SERVER_ADDRESSES

MakeTable = Callable[[int], VersionedTable]


@pytest.fixture(scope="module")
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


@pytest.fixture(scope="module")
def make_table(pinot: PinotCluster, kafka: Kafka, store: PropertyStore) -> Iterator[MakeTable]:
    """Creates tables that are not registered yet; drops them and their topics after the tests."""
    with ExitStack() as at_end:
        client = at_end.enter_context(pinot.client())

        def make(partitions: int) -> VersionedTable:
            table = VersionedTable(pinot, kafka, store, partitions)
            at_end.callback(table.drop, client)
            return table

        yield make


@pytest.fixture(scope="module")
def servers(pinot: PinotCluster, store: PropertyStore) -> list[str]:
    """Helix names of the stock servers that have the tables."""
    stock = tuple(f"Server_{address}_" for address, _ in SERVER_ADDRESSES.values())
    return [name for name in store.live_instances() if name.startswith(stock)]
