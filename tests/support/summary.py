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
_LONGEST_CAUSE = 2000


class SummaryPlugin:
    """Collects lines and counts of reader polls from the processes of a run; says at once what fails."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._terminal: pytest.TerminalReporter | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            self._terminal = session.config.pluginmanager.get_plugin("terminalreporter")

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

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A run that is ended before its summary, as by CI's limit, has shown what failed.
        if report.failed and self._terminal is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            cause = str(crash.message if crash else report.longrepr).strip()[:_LONGEST_CAUSE]
            self._terminal.write(f"\nfailed in {report.when}: {report.nodeid}: {cause}\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        tally = TALLY.line()
        for line in dict.fromkeys([*self._lines, *([tally] if tally else [])]):
            terminalreporter.write_line(line)
