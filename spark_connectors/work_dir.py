"""Where tasks keep local files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["work_dir"]


def work_dir(named: str | None = None) -> Path:
    """Return the folder that the option names, else Spark's own on this machine; runs in Python workers.

    Spark ends a worker without a word when another attempt at its task was first. It deletes its own folder
    when the application ends, also one that is killed; nobody deletes what is left in the system's.
    """
    return Path(named or os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir())
