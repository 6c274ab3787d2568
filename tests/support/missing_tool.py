"""Tests that cannot run as a tool is missing on this machine: Java, Go, a browser, a container engine."""

from __future__ import annotations

import functools
import os
from collections import Counter
from typing import NoReturn

import pytest

from controller_client.errors import SetupError
from jvm_bridge.jdk import find_java

__all__ = ["MissingToolPlugin", "without"]

_SKIPPED = "not on this machine: "
_WITH_JAVA = ("cluster", "jvm")
_FIXTURES_WITH_JAVA = frozenset({"spark", "test_session"})


def without(reason: str) -> NoReturn:
    """Skip the test; with ``PINOT_TEST_TOOLS=required``, as in CI, it fails, so nothing is skipped unnoticed.

    Args:
        reason: What is missing.
    """
    if os.environ.get("PINOT_TEST_TOOLS") == "required":
        pytest.fail(f"{reason} (PINOT_TEST_TOOLS=required)")
    pytest.skip(f"{_SKIPPED}{reason}")


class MissingToolPlugin:
    """Leaves out tests that need Java where there is none, and names missing tools at the end of a run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if (reason := _no_java()) and _needs_java(item):
            without(reason)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reasons: Counter[str] = Counter()
        for report in terminalreporter.stats.get("skipped", ()):
            if isinstance(report.longrepr, tuple):
                _, marked, reason = report.longrepr[2].partition(_SKIPPED)
                reasons[reason] += bool(marked)
        for reason, tests in reasons.items():
            if tests:
                terminalreporter.write_line(f"{tests:,} tests were not run: {reason}")


@functools.cache
def _no_java() -> str | None:
    """Return why there is no Java that tests can use, or None."""
    try:
        find_java()
    except SetupError as error:
        return str(error).partition("\n")[0]
    return None


def _needs_java(item: pytest.Item) -> bool:
    names: list[str] = getattr(item, "fixturenames", [])
    return any(map(item.get_closest_marker, _WITH_JAVA)) or not _FIXTURES_WITH_JAVA.isdisjoint(names)
