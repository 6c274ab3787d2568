from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from tests.integration.file_ingestion.ingestion import IngestionTable, forget_jobs
from tests.integration.file_ingestion.scenes.scene import Scene
from tests.integration.file_ingestion.scenes.source import Source
from tests.integration.file_ingestion.scenes.steered import SteeredScheduler
from tests.support.cluster import PinotCluster
from tests.support.faulty_s3 import FaultyS3, faulty_s3
from tests.support.s3 import S3Access

__all__ = ["faulty_s3"]


@pytest.fixture
def ingestion_table(pinot: PinotCluster, unique_table: str) -> Iterator[IngestionTable]:
    """A table to be created by the test; dropped after it."""
    with pinot.client() as client, pinot.broker() as broker:
        table = IngestionTable(unique_table, client, broker, pinot.controller_url)
        yield table
        forget_jobs(table, pinot)


@pytest.fixture(scope="module")
def module_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """A table for all tests of a module, to be created by them; dropped at the end."""
    with new_table(pinot) as table:
        yield table


@contextmanager
def new_table(pinot: PinotCluster) -> Iterator[IngestionTable]:
    """Yield a table to be created in the block; drop it afterwards."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with pinot.client() as client, pinot.broker() as broker:
        table = IngestionTable(name, client, broker, pinot.controller_url)
        yield table
        forget_jobs(table, pinot)
        if client.tables.exists(f"{name}_OFFLINE"):
            client.tables.delete(f"{name}_OFFLINE")
        if name in client.schemas.list():
            client.schemas.delete(name)


@pytest.fixture
def shared_folder(pinot: PinotCluster, tmp_path: Path) -> Path:
    """A source folder that the scheduler and the Python-hosted minion see under the same path."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture(scope="package")
def steered_scheduler(
    pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SteeredScheduler]:
    """A scheduler for the session, with a clock that tests control."""
    scheduler = SteeredScheduler(pinot, tmp_path_factory.mktemp("scheduler") / "stderr.log")
    yield scheduler
    scheduler.close()


@pytest.fixture(scope="package")
def second_scheduler(
    pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SteeredScheduler]:
    """Another scheduler."""
    scheduler = SteeredScheduler(pinot, tmp_path_factory.mktemp("scheduler") / "stderr.log")
    yield scheduler
    scheduler.close()


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
    steered_scheduler: SteeredScheduler,
) -> Iterator[Scene]:
    """A table to be created by the test, and an empty source behind a proxy."""
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield Scene(pinot, ingestion_table, source, steered_scheduler, store)
