"""Upsert tables on the hosted servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka

MakeUpsertTable = Callable[..., UpsertTable]


@pytest.fixture
def make_upsert_table(
    pinot: PinotCluster, hosted_servers: tuple[str, ...], kafka: Kafka
) -> Iterator[MakeUpsertTable]:
    """Create an upsert table; options as for :class:`UpsertTable`."""
    made: list[UpsertTable] = []
    with (
        pinot.client() as client,
        pinot.broker() as broker,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):

        def make(**options: Any) -> UpsertTable:
            table = UpsertTable(pinot, kafka, client, store, broker, **options)
            made.append(table)
            return table

        yield make
        for table in made:
            table.delete()
