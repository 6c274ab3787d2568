from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.support.cluster import PinotCluster


@pytest.fixture
def ingestion_table(pinot: PinotCluster, unique_table: str) -> Iterator[IngestionTable]:
    """A table that is not created yet; dropped after the test."""
    with pinot.client() as client, pinot.broker() as broker:
        yield IngestionTable(unique_table, client, broker, pinot.controller_url)


@pytest.fixture
def shared_folder(pinot: PinotCluster, tmp_path: Path) -> Path:
    """A source folder that the scheduler and the Python-hosted minion see under one path."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder
