"""The wheel of this checkout, built once for all tutorials."""

from __future__ import annotations

import pytest

from tests.packaging.environments import Installed


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed.build(tmp_path_factory.mktemp("wheel"))
