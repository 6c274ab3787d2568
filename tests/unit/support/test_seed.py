"""A run with ``--full`` in several processes: each of them draws the same tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_CONFTEST = """
from tests.support.seed import SeedPlugin, choose_seed


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true")
    parser.addoption("--seed", type=int, default=None)


def pytest_configure(config):
    config.option.seed = choose_seed(config)
    config.pluginmanager.register(SeedPlugin())


def pytest_generate_tests(metafunc):
    metafunc.parametrize("seed", [metafunc.config.option.seed])
"""
_TEST = """
def test_is_drawn(seed):
    assert isinstance(seed, int)
"""


def _output(folder: Path, *words: str) -> str:
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_drawn.py").write_text(_TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *words, str(folder)]
    root = Path(__file__).parents[3]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=True).stdout


def test_all_processes_have_the_seed_that_was_drawn(tmp_path: Path) -> None:
    found = re.findall(r"test_is_drawn\[(\d+)\]", _output(tmp_path, "-n", "2", "--full"))
    assert len(set(found)) == 1


def test_a_requested_seed_is_used(tmp_path: Path) -> None:
    assert "test_is_drawn[7]" in _output(tmp_path, "-n", "2", "--full", "--seed", "7")
