"""The row of docs/test-runs.md for a run of all tests: its last lines print it."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import datetime

import pytest

__all__ = ["RecordPlugin"]


class RecordPlugin:
    """Counts a run's outcomes, and prints the row of a complete run, in the process that starts it."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        config = terminalreporter.config
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        if not config.option.full or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
            return
        from tests.support.jars import jars_of
        from tests.support.service import Program
        from tests.support.session import chosen_backend

        counts = {
            name: len(terminalreporter.stats.get(name, ()))
            for name in ("passed", "failed", "error", "skipped")
        }
        cells = (
            datetime.now().astimezone().date().isoformat(),
            f"`{_commit()}`",
            f"{jars_of(Program.PINOT).version}, {chosen_backend()[0]}",
            str(config.option.seed),
            f"{os.cpu_count()} cores",
            f"{counts['passed']:,}",
            str(counts["failed"] + counts["error"]),
            str(counts["skipped"]),
            f"{time.monotonic() - self._began_s:,.0f}",
        )
        terminalreporter.write_line("for docs/test-runs.md:")
        terminalreporter.write_line(f"| {' | '.join(cells)} |")


def _commit() -> str:
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
