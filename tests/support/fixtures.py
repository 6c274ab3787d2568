"""Fixtures for all suites: the run's one cluster, S3 and Kafka, each started when first requested."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

# A run of unit tests alone needs neither a JDK nor what the services need: they are imported when requested.
if TYPE_CHECKING:
    from controller_client.broker.client import BrokerClient
    from tests.support.cluster import PinotCluster
    from tests.support.faulty_s3 import FaultyS3
    from tests.support.kafka import Kafka
    from tests.support.s3 import S3Access
    from tests.support.session import Session

__all__ = [
    "hosted_broker",
    "hosted_servers",
    "hosted_store",
    "kafka",
    "leaks",
    "pinot",
    "s3",
    "s3_bucket",
    "test_session",
    "unique_table",
]


@pytest.fixture(scope="module", autouse=True)
def leaks() -> Iterator[None]:
    """Whatever a module's tests leave open is reported as its fault, not as that of a later test."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def test_session() -> Iterator[Session]:
    from tests.support.session import Session
    from tests.support.shared_session import shared_slot

    session = Session(shared_slot())
    try:
        yield session
    finally:
        session.close()


@pytest.fixture(scope="session")
def pinot(test_session: Session) -> Iterator[PinotCluster]:
    """The run's Pinot cluster; while a test has it, the environment has the access to its deep store."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in test_session.s3_environment().items():
            patch.setenv(name, value)
        yield test_session.pinot


@pytest.fixture(scope="session")
def hosted_servers(pinot: PinotCluster) -> tuple[str, ...]:
    """The names in Helix of the two servers hosted in Python; one process of a run uses them."""
    return pinot.start_hosted_servers()


@pytest.fixture
def hosted_store(hosted_servers: tuple[str, ...], s3: S3Access, pinot: PinotCluster) -> Iterator[FaultyS3]:
    """For faults: a proxy between the hosted servers and the deep store."""
    with pinot.hosted_store() as proxy:
        yield proxy


@pytest.fixture(scope="session")
def hosted_broker(pinot: PinotCluster) -> Iterator[BrokerClient]:
    """A client of the broker hosted in Python; one process of a run uses it."""
    from controller_client.broker.client import BrokerClient

    with BrokerClient([pinot.start_hosted_broker()]) as broker:
        yield broker


@pytest.fixture(scope="session")
def s3(test_session: Session) -> S3Access:
    """The run's S3 server; skips the test if there is none."""
    from tests.support.missing_tool import without
    from tests.support.s3_program import S3UnavailableError

    try:
        return test_session.s3
    except S3UnavailableError as error:
        without(str(error))


@pytest.fixture(scope="session")
def kafka(test_session: Session) -> Kafka:
    """The run's Kafka node."""
    return test_session.kafka


@pytest.fixture
def s3_bucket(s3: S3Access) -> Iterator[str]:
    """A bucket for the test, deleted after it."""
    client = s3.client()
    bucket = f"test-{uuid.uuid4().hex[:12]}"
    client.create_bucket(Bucket=bucket)
    try:
        yield bucket
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for found in page.get("Contents", []):
                client.delete_object(Bucket=bucket, Key=found["Key"])
        client.delete_bucket(Bucket=bucket)
    finally:
        client.close()


@pytest.fixture
def unique_table(pinot: PinotCluster) -> Iterator[str]:
    """A table name for the test; its tables, and schemas with this prefix, are deleted after the test."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    yield name
    from tests.support.deleting import drop

    with pinot.client() as client:
        drop(client, name)
