"""The wheel of this checkout, built once for all tests of a process."""

from __future__ import annotations

import pytest

from tests.packaging.environments import Installed


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed.build(tmp_path_factory.mktemp("wheel"))
