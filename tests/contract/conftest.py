"""One child process with a JVM for all contract tests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.segment_child import SegmentChild


@pytest.fixture(scope="session")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    with SegmentChild(tmp_path_factory.mktemp("segments")) as running:
        yield running


@pytest.fixture
def source_dir(tmp_path: Path) -> Path:
    return tmp_path
