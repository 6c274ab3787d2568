"""Tests that only a run with ``--full`` has: permutations of what each run proves once, and long waits."""

from __future__ import annotations

import pytest

__all__ = ["FULL", "FullPlugin"]

FULL = pytest.mark.full
"""Mark of such a test, or of such a set of its parameters."""


class FullPlugin:
    """Leaves them out of a run without ``--full``."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if config.getoption("--full"):
            return
        left_out = [item for item in items if item.get_closest_marker(FULL.name)]
        if left_out:
            items[:] = [item for item in items if not item.get_closest_marker(FULL.name)]
            config.hook.pytest_deselected(items=left_out)
