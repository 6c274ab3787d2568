"""Last lines of a test session, even if its tests run in several processes (pytest-xdist)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.reader_polls import TALLY

__all__ = ["SUMMARY", "SummaryPlugin"]

SUMMARY: list[Callable[[pytest.Config], str]] = []
"""Functions that return lines (empty: nothing to report); a folder's conftest adds its own.

They run in the processes that run the tests.
"""

_LINES = "pinot_plugins_lines"
_TALLY = "pinot_plugins_tally"


class SummaryPlugin:
    """Collects the lines, and the counts of reader polls, from the processes that run tests."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        lines = [line for make in SUMMARY if (line := make(session.config))]
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is None:
            self._lines += lines
        else:
            output[_LINES] = lines
            output[_TALLY] = [TALLY.polls, TALLY.readers, TALLY.torn]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process of pytest-xdist has ended."""
        output: dict[str, Any] = getattr(node, "workeroutput", {})
        self._lines += output.get(_LINES, [])
        polls, readers, torn = output.get(_TALLY, (0, 0, 0))
        TALLY.polls += polls
        TALLY.readers += readers
        TALLY.torn += torn

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        tally = TALLY.line()
        for line in dict.fromkeys([*self._lines, *([tally] if tally else [])]):
            terminalreporter.write_line(line)
