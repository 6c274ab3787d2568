"""A task type whose subtasks sleep for a configured time; this file alone is copied into a container."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from jvm_bridge.minion import MinionContext, MinionTask

TASK_TYPE = "TestSleeps"
FOLDER = "path"

_ENTRY_POINTS = f"[pinot_plugins.task_executors]\n{TASK_TYPE} = sleeping_task:Sleeps\n"

logger = logging.getLogger(__name__)


def files() -> dict[str, bytes]:
    """Return the files of a distribution that registers the task type, relative to a folder on the path."""
    info = f"{FOLDER}/sleeping_task-1.0.dist-info"
    return {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: sleeping-task\nVersion: 1.0\n",
        f"{info}/entry_points.txt": _ENTRY_POINTS.encode(),
        f"{FOLDER}/sleeping_task.py": Path(__file__).read_bytes(),
    }


class Sleeps:
    """Sleeps for the seconds in its config, or until it is cancelled."""

    def __init__(self, _context: MinionContext) -> None:
        self._cancelled = threading.Event()

    def execute(self, task: MinionTask) -> None:
        logger.warning("sleeping for %s s", task.configs["seconds"])
        was_cancelled = self._cancelled.wait(float(task.configs["seconds"]))
        logger.warning("was cancelled" if was_cancelled else "has slept")

    def cancel(self) -> None:
        self._cancelled.set()
