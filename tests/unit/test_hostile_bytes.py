"""Whatever bytes a parser gets from others, it refuses them or is right, in little time and memory.

The inputs are those of :mod:`tests.unit.hostile_corpus`; :mod:`tests.fuzz` looks for more of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.hostile_bytes import MAX_CPU_S, MAX_MIB
from tests.unit.hostile_corpus import CASES

_WAIT_S = 600


@pytest.fixture(scope="module")
def results() -> Mapping[str, Mapping[str, Any]]:
    """What happened to each input."""
    command = [sys.executable, "-m", "tests.unit.hostile_bytes"]
    child = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_S, check=False)
    assert child.returncode == 0, child.stderr[-3000:]
    return {result["case"]: result for result in map(json.loads, child.stdout.splitlines())}


@pytest.mark.parametrize("case", [f"{parser}: {what}" for parser, cases in CASES.items() for what in cases])
def test_hostile_bytes_are_refused_or_read(case: str, results: Mapping[str, Mapping[str, Any]]) -> None:
    result = results[case]
    assert result["fault"] is None
    assert result["cpu_s"] < MAX_CPU_S
    assert result["mib"] < MAX_MIB
