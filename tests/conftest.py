"""Fixtures for all suites. The cluster, S3 and Kafka start once per session, when first requested."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support import version_runs
from tests.support.chosen_pinot import choose_pinot, described
from tests.support.cluster import PinotCluster
from tests.support.full import FullPlugin
from tests.support.java_options import QUICK_START_EVERYWHERE
from tests.support.kafka import Kafka
from tests.support.missing_tool import without
from tests.support.needs import NeedsPlugin
from tests.support.s3 import S3Access
from tests.support.s3_program import S3UnavailableError
from tests.support.scheduling import SchedulingPlugin
from tests.support.seed import SeedPlugin, choose_seed
from tests.support.session import Session, chosen_backend
from tests.support.summary import SummaryPlugin
from tests.support.timings import TimingPlugin

# The developer's own cluster and credentials must not reach a test.
_HIDDEN_VARIABLES = (
    *("PINOT_CONTROLLER_URL", "PINOT_BROKER_URL", "PINOT_USERNAME", "PINOT_PASSWORD", "PINOT_TOKEN"),
    *("PINOT_CA_FILE", "PINOT_CLIENT_CERT_FILE", "PINOT_CLIENT_KEY_FILE", "PINOT_TLS_VERIFY"),
    *("PINOT_CONNECT_TIMEOUT_S", "PINOT_READ_TIMEOUT_S", "PINOT_ZOOKEEPER"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL"),
)

# The time for an example depends more on the load of the machine than on the code.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _PATIENT, derandomize=True)
settings.register_profile("exploring", _PATIENT, max_examples=400)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        default=os.environ.get("PINOT_TEST_FULL") == "1",
        help="test all rows of tables of which otherwise a part is tested (or PINOT_TEST_FULL=1)",
    )
    seed = os.environ.get("PINOT_TEST_SEED")
    parser.addoption(
        "--seed",
        type=int,
        default=int(seed) if seed else None,
        help="seed of the random tests (or PINOT_TEST_SEED=...); else they are the same each time, but"
        " with --full, which takes a new seed and prints it",
    )
    version_runs.add_option(parser)
    parser.addoption(
        "--correct-pages",
        action="store_true",
        help="tests/docs: write what was printed into the pages, where they show something else",
    )


# Before hypothesis' own plugin, which reads its seed from there.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # The processes of pytest-xdist inherit the choice of the process that starts them.
    if not hasattr(config, "workerinput"):
        choose_pinot()
    config.option.seed = choose_seed(config)
    settings.load_profile("repeatable" if config.option.seed is None else "exploring")
    if config.option.seed is not None:
        config.option.hypothesis_seed = config.option.seed
    config.pluginmanager.register(FullPlugin())
    config.pluginmanager.register(NeedsPlugin())
    config.pluginmanager.register(SchedulingPlugin())
    config.pluginmanager.register(SeedPlugin())
    config.pluginmanager.register(SummaryPlugin())
    config.pluginmanager.register(TimingPlugin())
    if counting := version_runs.plugin_of(config):
        config.pluginmanager.register(counting)
    # A run in the background is started with Ctrl-C ignored, and programs under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return _about(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _about(terminalreporter.config):
        terminalreporter.write_line(line)


def _about(config: pytest.Config) -> list[str]:
    name, reason = chosen_backend()
    seed = config.option.seed
    return [
        f"Pinot: {described()}",
        f"cluster backend: {name} ({reason})",
        "random tests: the same each time" if seed is None else f"random tests: again with --seed {seed}",
    ]


@pytest.fixture(scope="session")
def random_seed(pytestconfig: pytest.Config) -> int:
    """The seed of this run's random tests; 0 where they are the same each time."""
    return int(pytestconfig.option.seed or 0)


@pytest.fixture(scope="session")
def full(pytestconfig: pytest.Config) -> bool:
    """Whether this run includes the long tests."""
    return bool(pytestconfig.option.full)


@pytest.fixture(scope="session", autouse=True)
def _environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in _HIDDEN_VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in QUICK_START_EVERYWHERE.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def test_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = Session(tmp_path_factory.mktemp("cluster"))
    try:
        yield session
    finally:
        session.close()


@pytest.fixture(scope="session")
def pinot(test_session: Session) -> Iterator[PinotCluster]:
    """The session's Pinot cluster; while it runs, the environment has the access to its deep store."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in test_session.s3_environment().items():
            patch.setenv(name, value)
        yield test_session.pinot


@pytest.fixture(scope="session")
def s3(test_session: Session) -> S3Access:
    """The session's S3 server; skips the test if there is none."""
    try:
        return test_session.s3
    except S3UnavailableError as error:
        without(str(error))


@pytest.fixture(scope="session")
def kafka(test_session: Session) -> Kafka:
    """The session's Kafka node."""
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
    with pinot.client() as client:
        for table in (f"{name}_OFFLINE", f"{name}_REALTIME"):
            if client.tables.exists(table):
                client.tables.delete(table)
        for schema in client.schemas.list():
            if schema.startswith(name):
                client.schemas.delete(schema)
