"""Prometheus' own checks of rules and alerts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.missing_tool import without

__all__ = ["promtool"]


def promtool(*arguments: str | Path) -> None:
    """Run promtool; if it fails, the test fails with its output."""
    found = shutil.which("promtool")
    if found is None:
        without("promtool is not installed (Debian's package prometheus has it)")
    done = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
