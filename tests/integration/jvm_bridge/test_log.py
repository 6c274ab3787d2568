"""Secrets that Java writes into its log; no cluster."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.jvm_bridge.log_program import LINES, LONG, SECRET

pytestmark = pytest.mark.jvm


def _run(kind: str, folder: Path) -> None:
    program = [sys.executable, "-m", "tests.integration.jvm_bridge.log_program", kind, str(folder)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_secrets_are_masked_by_this_projects_configuration(tmp_path: Path) -> None:
    _run("own", tmp_path)
    log = (tmp_path / "jvm.log").read_text()
    assert SECRET not in log
    assert log.count("***") == 3 * len(LINES) + 2
    assert "key: a.secretKey , value: ***" in log
    assert "NumberFormatException" in log


def test_secrets_are_masked_in_every_appender_of_a_users_configuration(tmp_path: Path) -> None:
    _run("user", tmp_path)
    plain, late = ((tmp_path / f"{name}.log").read_text() for name in ("plain", "late"))
    assert SECRET not in plain + late
    written = Counter(line.split()[:2][-1] for line in plain.splitlines() if line.startswith("first "))
    # One logger logs from info, the other from warn; each adds two errors.
    expected = {"INFO": len(LINES), "WARN": 2 * len(LINES) + len(LONG), "ERROR": 2 * len(LINES) + 4}
    assert written == expected
    assert "first WARN InstanceDataManagerConfig, key: a.secretKey , value: ***" in plain.splitlines()
    assert "Caused by: java.lang.Throwable: java.lang.NumberFormatException" in plain
    assert "java.lang.Integer.parseInt(" in plain
    assert {line.split()[1] for line in late.splitlines() if line.startswith("first ")} == {"ERROR"}
    assert late.count("first ERROR") == len(LINES) + 2
    # After the configuration was read again.
    assert plain.count("second INFO") == len(LINES)
    assert late.count("second ERROR") == len(LINES) + 2
