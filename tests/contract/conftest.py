"""A child process with a JVM for the contract tests of a session: with this run's Pinot or another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.segment_child import SegmentChild
from tests.support.pinned_pinot import EACH_RUN, pinned_home, pinot_versions


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Also run tests marked ``every_pinot`` with each version that has jars."""
    if "child" in metafunc.fixturenames and metafunc.definition.get_closest_marker("every_pinot"):
        versions = pinot_versions(EACH_RUN, "1.4.0", "1.3.0")
        metafunc.parametrize("child", versions, indirect=True, scope="session")


@pytest.fixture(scope="session")
def child(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    folder = tmp_path_factory.mktemp("segments")
    version: str | None = getattr(request, "param", None)
    home = None if version is None else pinned_home(version, tmp_path_factory.mktemp("jars"))
    with SegmentChild(folder, home) as running:
        yield running


@pytest.fixture
def source_dir(tmp_path: Path) -> Path:
    return tmp_path
