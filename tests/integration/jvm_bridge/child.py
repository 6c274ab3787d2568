"""Python code in a process of its own: a process can have only one JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

TIMEOUT_S = 120


def run(code: str, *, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `code` and wait for its end."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, **(env or {})},
    )


def result(code: str, *, env: Mapping[str, str] | None = None) -> Any:
    """Run `code`, which writes one JSON value to stdout at its end."""
    process = run(code, env=env)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])
