"""Upsert tables, each with its own coordinator and reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.integration.upsert.oracle.place import Place
from tests.integration.upsert.realtime_table import making
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka

MakePlace = Callable[[int, str], Place]


@pytest.fixture
def make_place(
    pinot: PinotCluster, hosted_servers: tuple[str, ...], kafka: Kafka, tmp_path: Path, random_seed: int
) -> Iterator[MakePlace]:
    """Create the table and start coordinator and reader; everything is removed after the test."""
    numbers = count()
    with making(pinot, kafka, Place) as make:

        def start(rows_per_segment: int, engine: str) -> Place:
            number = next(numbers)
            folder = tmp_path / str(number)
            folder.mkdir()
            place = make(folder, rows_per_segment, engine, random_seed + number)
            place.start()
            place.reader.start()
            return place

        yield start
