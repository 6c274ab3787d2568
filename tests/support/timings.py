"""Where the time of a test run goes: by folder, by process, and the slowest tests."""

from __future__ import annotations

from collections import Counter

import pytest

__all__ = ["TimingPlugin"]

_SLOWEST = 20
_WORTH_SHOWING_S = 60.0


class TimingPlugin:
    """Adds up the time of each test, including setup, even if the tests run in several processes."""

    def __init__(self) -> None:
        self._tests: Counter[str] = Counter()
        self._processes: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests[report.nodeid] += report.duration  # type: ignore[assignment]  # seconds count too
        self._processes[getattr(report, "worker_id", "main")] += report.duration  # type: ignore[assignment]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._tests.total() < _WORTH_SHOWING_S:
            return
        folders: Counter[str] = Counter()
        for test, seconds in self._tests.items():
            folders[_folder_of(test)] += seconds
        terminalreporter.section("seconds by folder and process")
        for name, seconds in [*folders.most_common(), *sorted(self._processes.items())]:
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")
        terminalreporter.section(f"the slowest {_SLOWEST} tests, with what they set up")
        for test, seconds in self._tests.most_common(_SLOWEST):
            terminalreporter.write_line(f"{seconds:8.1f}  {test}")


def _folder_of(test: str) -> str:
    """Return the folder of a test, three levels deep: ``tests/integration/upsert``."""
    return "/".join(test.partition("::")[0].split("/")[:-1][:3])
