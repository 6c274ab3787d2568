from __future__ import annotations

import uuid
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


@pytest.fixture(scope="module")
def module_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """A table for all tests of a module, not created yet; dropped after them."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with pinot.client() as client, pinot.broker() as broker:
        yield IngestionTable(name, client, broker, pinot.controller_url)
        if client.tables.exists(f"{name}_OFFLINE"):
            client.tables.delete(f"{name}_OFFLINE")
        if name in client.schemas.list():
            client.schemas.delete(name)


@pytest.fixture
def shared_folder(pinot: PinotCluster, tmp_path: Path) -> Path:
    """A source folder that the scheduler and the Python-hosted minion see under one path."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder
