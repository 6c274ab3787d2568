"""The local folder of tasks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["work_dir"]


def work_dir(named: str | None = None) -> Path:
    """Return the folder named in the option, or Spark's own on this machine; runs in Python workers.

    Spark kills a worker without notice if another attempt at its task finishes first. Spark deletes its own
    folder when the application ends, even if it is killed, but the system's temporary folder is not cleaned.
    """
    return Path(named or os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir())
