"""Rows are split by Pinot's partitioning: Pinot finds one partition in each segment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.jvm


def test_each_segment_holds_the_partition_that_it_was_split_off_as(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.partition_program", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cases = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    # Five types and five functions; Modulo is not defined for texts.
    assert len(cases) == 24
    for case in cases:
        assert sum(part["rows"] for part in case["parts"]) == case["given"], case
        for part in case["parts"]:
            assert part["in_segment"] == [part["partition"]], case
    murmur = next(case for case in cases if (case["type"], case["function"]) == ("LONG", "Murmur"))
    assert [part["partition"] for part in murmur["parts"]] == [0, 1, 2, 3, 4]
