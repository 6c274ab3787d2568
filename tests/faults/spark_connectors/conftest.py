from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from tests.faults.spark_connectors.place import Place
from tests.faults.spark_connectors.table import NEW_TABLE, rows
from tests.faults.spark_connectors.victims import Victims
from tests.integration.spark_connectors.conftest import (
    Connector,
    SparkTable,
    client,
    connector,
    make_table,
    spark,
)
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.faulty_http import FaultyHttp
from tests.support.tiers import FULL

__all__ = ["client", "connector", "make_table", "spark"]

PlaceOf = Callable[[str], Place]


@pytest.fixture(scope="package")
def victims(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory, full: bool) -> Iterator[Victims]:
    """Drivers to kill; they inherit access to the deep store from the cluster's fixture."""
    found = Victims(tmp_path_factory.mktemp("writes"), in_advance=full)
    yield found
    found.close()


@pytest.fixture(scope="package")
def place_of(pinot: PinotCluster, spark: SparkSession, connector: Connector) -> Iterator[PlaceOf]:
    """The tables by mode, created on first use and after a failed row; all are dropped at the end."""
    made: list[Place] = []
    places: dict[str, Place] = {}
    with FaultyHttp(pinot.controller_url) as proxy, pinot.client() as client, pinot.broker() as broker:

        def place_of(kind: str) -> Place:
            found = places.get(kind)
            if found is None or not found.is_sound:
                name = f"sp_{uuid.uuid4().hex[:12]}"
                found = places[kind] = Place(SparkTable(name, pinot, client, broker), spark, connector, proxy)
                made.append(found)
                if kind != NEW_TABLE:
                    found.write(range(20), "append")
                    found.held = [range(20)]
            return found

        yield place_of
        for place in made:
            drop(client, place.table.name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        everything = [pytest.param(row, id=row.id, marks=[] if row.by_default else [FULL]) for row in rows()]
        metafunc.parametrize("row", everything)
