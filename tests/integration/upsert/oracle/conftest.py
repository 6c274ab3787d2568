"""Upsert tables, each with its own coordinator and reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.oracle.place import Place
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka

MakePlace = Callable[[int, str], Place]


@pytest.fixture
def make_place(
    pinot: PinotCluster, hosted_servers: tuple[str, ...], kafka: Kafka, tmp_path: Path, random_seed: int
) -> Iterator[MakePlace]:
    """Create the table and start coordinator and reader; everything is removed after the test."""
    made: list[Place] = []
    with (
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):

        def make(rows_per_segment: int, engine: str) -> Place:
            folder = tmp_path / str(len(made))
            folder.mkdir()
            seed = random_seed + len(made)
            place = Place(pinot, kafka, client, store, folder, rows_per_segment, engine, seed)
            made.append(place)
            place.start_coordinator()
            place.reader.start()
            return place

        yield make
        for place in made:
            place.close()
