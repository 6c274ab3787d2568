"""The page of complete test runs by Pinot version; a run writes its counts to it (``--write-versions``)."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from controller_client.rest.capabilities import PinotVersion
from jvm_bridge.jdk import find_java
from tests.support.jars import jars_of
from tests.support.service import Program
from tests.support.session import chosen_backend

__all__ = ["VersionRun", "VersionRunsPlugin", "add_option", "plugin_of", "written"]

_OPTION = "--write-versions"
_PAGE = Path(__file__).parents[2] / "docs" / "versions.md"

_RUNS = "| Pinot | date | command | run as | machine | passed | failed | errors | skipped | seconds |"
_SKIPPED = "| Pinot | tests skipped | why |"
_TEMPLATE = f"""# Complete test runs by Pinot version

When `./test.sh {_OPTION}` ends, it replaces the rows of its version here, including the skipped tests. Rows
of other versions stay unchanged. `PINOT_HOME` or `PINOT_IMAGE` selects the version
([CONTRIBUTING.md](../CONTRIBUTING.md)). A version without a row has had no complete run.

{_RUNS}
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |

Each skipped test gives a reason. In most cases, the version lacks something that the test needs.

{_SKIPPED}
| --- | --- | --- |
"""


@dataclass(frozen=True)
class VersionRun:
    """One run of the tests.

    Attributes:
        version: Version of Pinot.
        date: Date on which it ended, e.g. ``2026-11-23``.
        command: The command, e.g. ``./test.sh --full``.
        backend: ``containers`` or ``processes``.
        machine: Cores, memory, Java.
        passed: Number of tests that passed.
        failed: Number of tests that failed.
        errors: Number of tests whose fixtures failed.
        skipped: Number of skipped tests, by reason.
        seconds: Duration in seconds.
    """

    version: str
    date: str
    command: str
    backend: str
    machine: str
    passed: int
    failed: int
    errors: int
    skipped: Mapping[str, int]
    seconds: float

    def row(self) -> str:
        """Return its row of the table of runs."""
        counts = (self.passed, self.failed, self.errors, sum(self.skipped.values()), round(self.seconds))
        cells = (self.version, self.date, f"`{self.command}`", self.backend, self.machine)
        return _row(*cells, *(f"{count:,}" for count in counts))

    def reasons(self) -> list[str]:
        """Return its rows of the table of skipped tests, the most frequent reason first."""
        by_number = sorted(self.skipped.items(), key=lambda item: (-item[1], item[0]))
        return [_row(self.version, str(number), reason) for reason, number in by_number]


def written(page: str, run: VersionRun) -> str:
    """Return the page with the previous rows of the run's version replaced by the run's rows.

    Raises:
        ValueError: The page lacks one of the two tables.
    """
    text = page or _TEMPLATE
    text = _replaced(text, _RUNS, run.version, [run.row()])
    return _replaced(text, _SKIPPED, run.version, run.reasons())


def _replaced(page: str, header: str, version: str, rows: Sequence[str]) -> str:
    lines = page.splitlines()
    if header not in lines:
        raise ValueError(f"the page has no table with the header {header!r}")
    begin = lines.index(header) + 2
    end = begin
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    others = [line for line in lines[begin:end] if _version_of(line) != version]
    lines[begin:end] = sorted([*others, *rows], key=lambda line: PinotVersion.parse(_version_of(line)))
    return "\n".join(lines) + "\n"


def _version_of(row: str) -> str:
    return row.split("|")[1].strip()


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


class VersionRunsPlugin:
    """Counts a run's outcomes, even if its tests run in several processes, and writes them at the end."""

    def __init__(self, page: Path, command: str) -> None:
        self._page = page
        self._command = command
        self._begin = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._skipped[_reason(report)] += 1
        elif report.failed:
            self._counts["failed" if report.when == "call" else "errors"] += 1
        elif report.when == "call":
            self._counts["passed"] += 1

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int | pytest.ExitCode
    ) -> None:
        if exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            terminalreporter.write_line(f"{self._page} is not written: the run did not come to its end")
            return
        page = self._page.read_text(encoding="utf-8") if self._page.exists() else ""
        self._page.write_text(written(page, self._run()), encoding="utf-8")
        terminalreporter.write_line(f"the counts are written to {self._page}")

    def _run(self) -> VersionRun:
        counts = self._counts
        return VersionRun(
            version=jars_of(Program.PINOT).version,
            date=datetime.now().astimezone().date().isoformat(),
            command=self._command,
            backend=chosen_backend()[0],
            machine=_machine(),
            passed=counts["passed"],
            failed=counts["failed"],
            errors=counts["errors"],
            skipped=self._skipped,
            seconds=time.monotonic() - self._begin,
        )


def add_option(parser: pytest.Parser) -> None:
    """Add the option to those of pytest."""
    parser.addoption(
        _OPTION,
        nargs="?",
        const=str(_PAGE),
        metavar="FILE",
        help="write the counts of this run to docs/versions.md, or to another such page",
    )


def plugin_of(config: pytest.Config) -> VersionRunsPlugin | None:
    """Return the counter of this run; None if it was not requested, and in a process of pytest-xdist.

    Raises:
        pytest.UsageError: A run of only some tests would replace a complete run on the page.
    """
    asked: str | None = config.getoption(_OPTION)
    if asked is None or hasattr(config, "workerinput"):
        return None
    page = Path(asked)
    if page.is_dir():
        raise pytest.UsageError(f"{_OPTION}: {asked} is a folder; expected a file, or the option at the end")
    words = [word for word in map(str, config.invocation_params.args) if word.partition("=")[0] != _OPTION]
    chosen = config.option.keyword or config.option.markexpr
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen
    if page.resolve() == _PAGE and not whole:
        raise pytest.UsageError(
            f"{_OPTION} {asked} is for complete runs: name another file for some of the tests"
        )
    return VersionRunsPlugin(page, shlex.join(["./test.sh", *words]))


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple | list) else str(report.longrepr)
    return str(text).removeprefix("Skipped: ")


def _machine() -> str:
    memory_gib = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory_gib:.0f} GiB, Java {find_java().version_text}"
