from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.takeover.place import Several
from tests.integration.file_ingestion.conftest import ingestion_table, shared_folder, store
from tests.integration.upsert.coordinator.conftest import make_table, spark
from tests.support.cluster import PinotCluster

__all__ = ["ingestion_table", "make_table", "shared_folder", "spark", "store"]


@pytest.fixture
def schedulers(pinot: PinotCluster, tmp_path: Path) -> Iterator[Several]:
    """Schedulers, each with its own log; tests with this fixture run one after the other."""
    with Several(tmp_path, pinot.controller_url, "scheduler", "--refresh", "1") as several:
        yield several
