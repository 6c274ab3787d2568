"""Python code in a process of its own: a process can have only one JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

_TIMEOUT_S = 300


def result(code: str, *, env: Mapping[str, str] | None = None) -> Any:
    """Run `code`, which writes one JSON value to stdout at its end."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        errors="replace",  # JPype prints what it cannot decode
        timeout=_TIMEOUT_S,
        check=False,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
