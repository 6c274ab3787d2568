from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from click.testing import CliRunner

from controller_client.broker.client import BrokerClient
from controller_client.zookeeper import PropertyStore
from pinotctl.root import cli
from tests.integration.upsert.broker.versioned_table import VersionedTable
from tests.integration.upsert.realtime_table import Clients, open_clients
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka
from tests.support.pinot_services import SERVER_ADDRESSES

MakeTable = Callable[[int], VersionedTable]
Pinotctl = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def clients(pinot: PinotCluster, kafka: Kafka) -> Iterator[Clients]:
    with open_clients(pinot, kafka) as clients:
        yield clients


@pytest.fixture(scope="module")
def store(clients: Clients) -> PropertyStore:
    return clients.store


@pytest.fixture(scope="module")
def broker(clients: Clients) -> BrokerClient:
    """A client of the stock broker."""
    return clients.broker


@pytest.fixture(scope="module")
def make_table(clients: Clients) -> Iterator[MakeTable]:
    """Creates tables that are not registered yet; drops them and their topics after the tests."""
    with ExitStack() as at_end:

        def make(partitions: int) -> VersionedTable:
            table = VersionedTable(clients, partitions)
            at_end.callback(table.delete)
            return table

        yield make


@pytest.fixture
def pinotctl(pinot: PinotCluster) -> Pinotctl:
    """Runs it in this process; returns the exit code, stdout, and stderr with what was raised."""

    def run(*words: str) -> tuple[int, str, str]:
        everywhere = ["--controller", pinot.controller_url, "--broker", pinot.broker_url]
        done = CliRunner().invoke(cli, [*everywhere, *words])
        return done.exit_code, done.stdout, f"{done.stderr}{done.exception or ''}"

    return run


@pytest.fixture(scope="module")
def servers(pinot: PinotCluster, store: PropertyStore) -> list[str]:
    """Helix names of the stock servers that have the tables."""
    stock = tuple(f"Server_{address}_" for address, _ in SERVER_ADDRESSES.values())
    return [name for name in store.live_instances() if name.startswith(stock)]
