from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from controller_client.zookeeper import PropertyStore
from tests.integration.consumption.stream_table import StreamTable
from tests.integration.pinotctl.conftest import run
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka

__all__ = ["MakeTable", "run"]

MakeTable = Callable[..., StreamTable]


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


@pytest.fixture
def make_stream_table(pinot: PinotCluster, kafka: Kafka, store: PropertyStore) -> Iterator[MakeTable]:
    """Makes realtime tables, each with its own topic; both are dropped after the test.

    ``rows`` is a number of rows per partition that the table has read.
    """
    with ExitStack() as at_end:
        client = at_end.enter_context(pinot.client())
        broker = at_end.enter_context(pinot.broker())

        def make(
            *,
            partitions: int = 3,
            replicas: int = 1,
            rows_per_segment: int = 100_000,
            database: str | None = None,
            rows: int = 0,
            **options: Any,
        ) -> StreamTable:
            table = StreamTable(pinot, kafka, client, broker, store, partitions, database)
            at_end.callback(table.drop)
            table.create(replicas=replicas, rows_per_segment=rows_per_segment, **options)
            if rows:
                table.produce(rows)
                table.wait_rows()
            return table

        yield make
