from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from tests.integration.file_ingestion.ingestion import IngestionTable, Pinotctl, end_started, forget_jobs
from tests.integration.file_ingestion.scenes.scene import Scene
from tests.integration.file_ingestion.scenes.source import Source
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.faulty_http import FaultyHttp
from tests.support.faulty_s3 import FaultyS3, faulty_s3
from tests.support.s3 import S3Access

__all__ = ["faulty_s3"]


@contextmanager
def new_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """Yield a table to be created in the block; drop it, and schemas with its prefix, afterwards."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with pinot.client() as client, pinot.broker() as broker:
        table = IngestionTable(name, client, broker, pinot.controller_url)
        yield table
        end_started()
        forget_jobs(table, pinot)
        drop(client, name)


@pytest.fixture
def ingestion_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """A table to be created by the test; dropped after it."""
    with new_table(pinot) as table:
        yield table


@pytest.fixture(scope="module")
def module_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """A table for all tests of a module, to be created by them; dropped at the end."""
    with new_table(pinot) as table:
        yield table


@pytest.fixture
def controller_proxy(pinot: PinotCluster) -> Iterator[FaultyHttp]:
    """A proxy for one test in front of the controller."""
    with FaultyHttp(pinot.controller_url) as proxy:
        yield proxy


@pytest.fixture
def pinotctl(pinot: PinotCluster) -> Pinotctl:
    return Pinotctl(pinot.controller_url)


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """A source folder that runs and the Python-hosted minion see under the same path."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def source(s3: S3Access, s3_bucket: str, faulty_s3: FaultyS3) -> Iterator[Source]:
    """An empty source behind a proxy."""
    client = s3.client()
    yield Source(client, s3_bucket, faulty_s3)
    client.close()


@pytest.fixture
def scene(
    pinot: PinotCluster,
    source: Source,
    ingestion_table: IngestionTable,
    store: PropertyStore,
) -> Scene:
    """A table to be created by the test, and an empty source behind a proxy."""
    return Scene(pinot, ingestion_table, source, store)
