"""Kills a run at a moment that is visible in ZooKeeper or the controller."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable

from tests.support.wait import wait_for


def kill_when(process: subprocess.Popen[str], moment: Callable[[], bool], what: str) -> None:
    def moment_or_end() -> bool:
        return moment() or process.poll() is not None

    wait_for(moment_or_end, what, timeout_s=240, interval_s=0.005)
    assert process.poll() is None, f"the run ended before {what}: {process.communicate()}"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
