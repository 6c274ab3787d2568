"""Tests that run only with ``--full``: permutations of what every run tests once, and long waits."""

from __future__ import annotations

import pytest

__all__ = ["FULL", "FullPlugin"]

FULL = pytest.mark.full
"""Marks such a test, or such a set of parameters."""


class FullPlugin:
    """Excludes them from a run without ``--full``."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if config.getoption("--full"):
            return
        left_out = [item for item in items if item.get_closest_marker(FULL.name)]
        if left_out:
            items[:] = [item for item in items if not item.get_closest_marker(FULL.name)]
            config.hook.pytest_deselected(items=left_out)
