from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.faults.scaled_minions.crew import Crew
from tests.faults.takeover.conftest import schedulers
from tests.faults.upgrade.place import RAISED
from tests.integration.consumption.conftest import make_stream_table
from tests.integration.file_ingestion.conftest import (
    controller_proxy,
    faulty_s3,
    ingestion_table,
    new_table,
    shared_folder,
    source,
    store,
)
from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.support.cluster import PinotCluster
from tests.support.releases import Release, make_later

__all__ = [
    "controller_proxy",
    "faulty_s3",
    "ingestion_table",
    "make_stream_table",
    "schedulers",
    "shared_folder",
    "source",
    "store",
]


@pytest.fixture(scope="package")
def later(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A later release, which writes the next version of the formats under test."""
    return make_later(tmp_path_factory.mktemp("later"), RAISED)


@pytest.fixture(scope="package")
def later_minions(
    pinot: PinotCluster, later: Release, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The tag of a minion of the later release, which joins once it is ready; runs wait for it."""
    tag = f"later_release_{uuid.uuid4().hex[:8]}"
    with Crew(pinot, tmp_path_factory.mktemp("minions"), tag, release=later) as crew:
        crew.grow(1)
        yield tag


@pytest.fixture
def other_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """A second table, not created yet; dropped after the test."""
    with new_table(pinot) as table:
        yield table
