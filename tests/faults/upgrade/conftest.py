from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.scaled_minions.crew import Crew
from tests.faults.takeover.place import Several
from tests.faults.upgrade.place import RAISED
from tests.integration.consumption.conftest import make_stream_table, store
from tests.integration.file_ingestion.conftest import (
    faulty_s3,
    ingestion_table,
    new_table,
    shared_folder,
    source,
)
from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp
from tests.support.releases import Release, make_later

__all__ = [
    "faulty_s3",
    "ingestion_table",
    "make_stream_table",
    "shared_folder",
    "source",
    "store",
]

_TAG = "later_release"


@pytest.fixture(scope="package")
def later(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A later release, which writes the next version of the formats under test."""
    return make_later(tmp_path_factory.mktemp("later"), RAISED)


@pytest.fixture(scope="package")
def later_minions(
    pinot: PinotCluster, later: Release, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The tag of a minion of the later release, which joins once it is ready; runs wait for it."""
    crew = Crew(pinot, tmp_path_factory.mktemp("minions"), _TAG, release=later)
    crew.grow(1)
    yield _TAG
    crew.close()


@pytest.fixture
def other_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """A second table, not created yet; dropped after the test."""
    with new_table(pinot) as table:
        yield table


@pytest.fixture
def controller_proxy(pinot: PinotCluster) -> Iterator[FaultyHttp]:
    with FaultyHttp(pinot.controller_url) as proxy:
        yield proxy


@pytest.fixture
def schedulers(pinot: PinotCluster, tmp_path: Path) -> Iterator[Several]:
    """Schedulers of either release, each with its own log."""
    several = Several(tmp_path, pinot.controller_url, "scheduler", "--refresh", "1")
    yield several
    several.close()
