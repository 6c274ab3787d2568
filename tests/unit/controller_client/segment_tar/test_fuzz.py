"""Randomly changed tars are refused or right, never wrong, and take little memory and CPU time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_REPOSITORY = Path(__file__).parents[4]


def test_changed_tars_are_refused_or_right(full: bool) -> None:
    count = 5000 if full else 400
    # The limits apply to a whole process, so it is a child process.
    program = [
        sys.executable,
        "-m",
        "tests.unit.controller_client.segment_tar.fuzz_program",
        str(count),
        "20261122",
    ]
    done = subprocess.run(program, capture_output=True, text=True, cwd=_REPOSITORY, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["wrong"] == []
    outcomes = report["outcomes"]
    assert sum(outcomes.values()) == count
    # Every outcome occurs: some changes are harmless, and some do not affect the rows.
    assert outcomes["refused"] > count / 2
    assert outcomes["right"] > count / 10
    assert outcomes["right rows"] > 0
