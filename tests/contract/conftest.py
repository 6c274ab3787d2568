"""A child process with a JVM for the contract tests of a session: with this run's Pinot or another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.segment_child import SegmentChild
from tests.support.pinned_pinot import home_variables, pinot_versions

pytest.register_assert_rewrite("tests.contract.same_segments")

_OF_SEVERAL_PINOTS = "test_other_versions.py"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what compares versions of Pinot in a run that names one."""
    return True if collection_path.name == _OF_SEVERAL_PINOTS and "PINOT_HOME" in os.environ else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Also run tests marked ``every_pinot`` with each version that has jars."""
    if "child" in metafunc.fixturenames and metafunc.definition.get_closest_marker("every_pinot"):
        versions = pinot_versions("1.5.1", "1.4.0", "1.3.0")
        metafunc.parametrize("child", versions, indirect=True, scope="session")


@pytest.fixture(scope="session")
def child(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    version: str | None = getattr(request, "param", None)
    variables = home_variables(version, tmp_path_factory.mktemp("jars"))
    with SegmentChild(tmp_path_factory.mktemp("segments"), variables) as running:
        # The jars of other versions have no readers of files.
        assert running.reads_files is (version is None)
        yield running


@pytest.fixture
def numbers(random_seed: int, full: bool) -> Callable[[int, int], range]:
    """The numbers of a test's random tables: few by default, many with ``--full``."""
    return lambda few, many: range(random_seed * many, random_seed * many + (many if full else few))
