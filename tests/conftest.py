"""Options and plugins of all suites; `tests.support.fixtures` has their fixtures."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support import fixtures
from tests.support.java_options import QUICK_START_EVERYWHERE
from tests.support.missing_tool import MissingToolPlugin
from tests.support.needs import NeedsPlugin
from tests.support.recorded import RecordPlugin
from tests.support.scheduling import SchedulingPlugin
from tests.support.seed import SeedPlugin, choose_seed
from tests.support.summary import SummaryPlugin
from tests.support.tiers import TiersPlugin
from tests.support.timings import TimingPlugin

if TYPE_CHECKING:
    from tests.support.shared_session import SharedSession

_UNIT = Path(__file__).parent / "unit"
_SESSION: pytest.StashKey[SharedSession] = pytest.StashKey()

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


def pytest_collection_finish() -> None:
    # What exists by now stays to the end: the collections between the tests need not visit it.
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        default=os.environ.get("PINOT_TEST_FULL") == "1",
        help="run all tests, also those that are otherwise left out (or PINOT_TEST_FULL=1)",
    )
    seed = os.environ.get("PINOT_TEST_SEED")
    parser.addoption(
        "--seed",
        type=int,
        default=int(seed) if seed else None,
        help="seed of the random tests (or PINOT_TEST_SEED=...); else they are the same each time, except"
        " with --full, which takes a new seed and prints it",
    )
    parser.addoption(
        "--since",
        metavar="REV",
        help="run only the tests that the change since this revision of git can affect",
    )
    parser.addoption(
        "--also-since",
        metavar="REV",
        help="of the folders that are otherwise left out, run what the change since this revision can affect",
    )
    parser.addoption(
        "--keep",
        action="store_true",
        help="leave the cluster, Kafka and S3 running for the next run, until ./test.sh --stop",
    )
    parser.addoption(
        "--correct-pages",
        action="store_true",
        help="tests/docs: write what was printed into the pages, where they show something else",
    )


# Before hypothesis' own plugin, which reads its seed from there.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # A run in the background is started with Ctrl-C ignored, and programs under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.option.seed = choose_seed(config)
    settings.load_profile("repeatable" if config.option.seed is None else "exploring")
    if config.option.seed is not None:
        config.option.hypothesis_seed = config.option.seed
    for plugin in (
        fixtures,
        TiersPlugin(config),
        MissingToolPlugin(),
        NeedsPlugin(),
        SchedulingPlugin(config),
        SeedPlugin(),
        SummaryPlugin(),
        TimingPlugin(),
        RecordPlugin(),
    ):
        config.pluginmanager.register(plugin)
    # The processes of pytest-xdist inherit both from the process that starts them.
    if not hasattr(config, "workerinput") and not _only_unit_tests(config):
        from tests.support.chosen_pinot import choose_pinot
        from tests.support.jars import archive_classes
        from tests.support.shared_session import SharedSession

        choose_pinot()
        archive_classes()
        config.stash[_SESSION] = SharedSession(keep=config.option.keep)


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    return _about(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _about(terminalreporter.config):
        terminalreporter.write_line(line)


def _about(config: pytest.Config) -> list[str]:
    seed = config.option.seed
    lines = [
        "random tests: the same each time" if seed is None else f"random tests: again with --seed {seed}"
    ]
    if not _only_unit_tests(config):
        from tests.support.chosen_pinot import described
        from tests.support.session import chosen_backend

        name, reason = chosen_backend()
        lines += [f"Pinot: {described()}", f"cluster backend: {name} ({reason})"]
    return lines


def _only_unit_tests(config: pytest.Config) -> bool:
    """Return whether the run is limited to tests that need neither a JDK nor services."""
    paths = [Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args]
    return all(path.resolve().is_relative_to(_UNIT) for path in paths)


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
