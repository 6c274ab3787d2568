"""Python code in a process of its own: a process can have only one JVM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

_TIMEOUT_S = 300
_TO_SHOW_S = 10
# The JVM has other uses for most signals, but none for this one.
_SHOWS_STACKS = "import faulthandler, signal\nfaulthandler.register(signal.SIGUSR1, all_threads=True)\n"


def result(code: str, *, env: Mapping[str, str] | None = None) -> Any:
    """Run `code`, which writes one JSON value to stdout at its end; if it hangs, show where."""
    child = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", _SHOWS_STACKS + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",  # JPype prints what it cannot decode
        env={**os.environ, **(env or {})},
    )
    try:
        out, err = child.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGUSR1)
        try:
            out, err = child.communicate(timeout=_TO_SHOW_S)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
        raise AssertionError(f"it did not end in {_TIMEOUT_S} s:\n{out}\n{err}") from None
    assert child.returncode == 0, err
    return json.loads(out.splitlines()[-1])
