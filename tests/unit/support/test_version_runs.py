"""The page of complete runs: a run's rows replace those of its version, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.version_runs import VersionRun, written

pytest_plugins = ["pytester"]

MACHINE = "2 cores, 24 GiB, Java 17.0.9"

_CONFTEST = """
from tests.support.version_runs import add_option, plugin_of

def pytest_addoption(parser):
    add_option(parser)

def pytest_configure(config):
    if counting := plugin_of(config):
        config.pluginmanager.register(counting)
"""

_TESTS = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError

@pytest.fixture
def broken_at_its_end():
    yield
    raise RuntimeError

def test_passes(): ...
def test_fails(): assert False
def test_stands_on_a_broken_fixture(broken): ...
def test_passes_with_an_error(broken_at_its_end): ...
def test_is_skipped(): pytest.skip("a | b")
@pytest.mark.skipif(True, reason="other")
def test_is_never_begun(): ...
@pytest.mark.parametrize("number", range(2))
def test_is_skipped_too(number): pytest.skip("other")
"""


def run_of(version: str, skipped: Mapping[str, int], passed: int = 4364) -> VersionRun:
    command = "./test.sh --full"
    return VersionRun(version, "2026-11-23", command, "containers", MACHINE, passed, 5, 1, skipped, 7353.6)


def rows_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(("| 0", "| 1"))]


def test_the_first_run_makes_the_page() -> None:
    page = written("", run_of("1.5.1", {"no Go": 2, "this Pinot (1.5.1) lacks: x": 55}))
    assert page.startswith("# Complete test runs by Pinot version\n")
    assert rows_of(page) == [
        f"| 1.5.1 | 2026-11-23 | `./test.sh --full` | containers | {MACHINE} | 4,364 | 5 | 1 | 57 | 7,354 |",
        "| 1.5.1 | 55 | this Pinot (1.5.1) lacks: x |",
        "| 1.5.1 | 2 | no Go |",
    ]


def test_a_versions_rows_are_replaced_and_others_stay_in_order() -> None:
    page = ""
    for version in ("1.5.1", "0.11.0", "1.10.0", "1.4.0"):
        page = written(page, run_of(version, {"a": 1, "b": 2}))
    again = written(page, run_of("1.5.1", {"c": 3}, passed=4400))
    assert [row.split("|")[1].strip() for row in rows_of(again)] == [
        *("0.11.0", "1.4.0", "1.5.1", "1.10.0"),
        *("0.11.0", "0.11.0", "1.4.0", "1.4.0", "1.5.1", "1.10.0", "1.10.0"),
    ]
    assert "| 4,400 | 5 | 1 | 3 |" in again
    assert [row for row in rows_of(again) if "1.5.1" not in row] == [
        row for row in rows_of(page) if "1.5.1" not in row
    ]
    assert written(again, run_of("1.5.1", {"c": 3}, passed=4400)) == again


def test_the_rest_of_the_page_stays() -> None:
    page = written("", run_of("1.5.1", {"a": 1})).replace("# Complete", "# All") + "\nA last word.\n"
    again = written(page, run_of("1.5.1", {}))
    assert again.startswith("# All")
    assert again.endswith("\nA last word.\n")
    assert len(rows_of(again)) == 1


def test_a_page_without_the_tables_is_not_written() -> None:
    with pytest.raises(ValueError, match="no table"):
        written("# Something else\n", run_of("1.5.1", {}))


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page of a run on Pinot 1.5.1."""
    jar = tmp_path / "lib" / "pinot-all-1.5.1-jar-with-dependencies.jar"
    jar.parent.mkdir()
    jar.touch()
    monkeypatch.setenv("PINOT_HOME", str(tmp_path))
    return tmp_path / "page.md"


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_run_counts_what_happened(
    pytester: pytest.Pytester, page: Path, processes: tuple[str, ...]
) -> None:
    pytester.makepyfile(_TESTS)
    pytester.makeconftest(_CONFTEST)
    ran = pytester.runpytest_subprocess(f"--write-versions={page}", *processes)
    ran.stdout.fnmatch_lines([f"the counts are written to {page}"])
    run, *skipped = rows_of(page.read_text(encoding="utf-8"))
    cells = [cell.strip() for cell in run.split("|")]
    assert (cells[1], cells[6:10]) == ("1.5.1", ["2", "1", "2", "4"])
    assert [row.split("| ", 2)[2] for row in skipped] == ["3 | other |", "1 | a \\| b |"]
    command = cells[3].strip("`")
    assert command.startswith("./test.sh")
    assert command.endswith(" ".join(("", *processes)))
    assert "write-versions" not in command


def test_a_run_that_is_stopped_writes_nothing(pytester: pytest.Pytester, page: Path) -> None:
    pytester.makepyfile("def test_stop(): raise KeyboardInterrupt")
    pytester.makeconftest(_CONFTEST)
    ran = pytester.runpytest_subprocess(f"--write-versions={page}")
    ran.stdout.fnmatch_lines([f"{page} is not written: the run did not come to its end"])
    assert not page.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "passes", "--write-versions"), "*versions.md is for complete runs*"),
        (("test_some.py", "--write-versions"), "*versions.md is for complete runs*"),
        (("--write-versions", "."), "*is a folder*"),
    ],
)
def test_a_run_of_some_tests_is_not_a_complete_run(
    pytester: pytest.Pytester, words: tuple[str, ...], message: str
) -> None:
    pytester.makepyfile(test_some=_TESTS)
    pytester.makeconftest(_CONFTEST)
    ran = pytester.runpytest_inprocess(*words)
    ran.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
