"""Upsert tables on the hosted servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.integration.upsert.realtime_table import making
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka

MakeUpsertTable = Callable[..., UpsertTable]


@pytest.fixture
def make_upsert_table(
    pinot: PinotCluster, hosted_servers: tuple[str, ...], kafka: Kafka
) -> Iterator[MakeUpsertTable]:
    """Create an upsert table; options as for :class:`UpsertTable`."""
    with making(pinot, kafka, UpsertTable) as make:
        yield make
