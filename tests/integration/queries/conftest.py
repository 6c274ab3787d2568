"""One table with all of Pinot's types, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from controller_client.broker.client import BrokerClient
from tests.integration.queries.kinds_table import load_kinds
from tests.support.cluster import PinotCluster


@pytest.fixture(scope="session")
def kinds(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table's name."""
    name = f"t_{uuid4().hex[:12]}"
    with pinot.client() as client, pinot.broker() as broker:
        load_kinds(client, broker, name, tmp_path_factory.mktemp("kinds"))
    return name


@pytest.fixture
def broker(pinot: PinotCluster) -> Iterator[BrokerClient]:
    with pinot.broker() as broker:
        yield broker
