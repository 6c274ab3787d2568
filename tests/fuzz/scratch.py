"""Files in memory for parsers that read files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["file_with", "folder"]

_MEMORY = Path("/dev/shm")


@cache
def folder() -> Path:
    """Return a folder of this process, in memory if possible."""
    made = Path(tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def file_with(data: bytes, name: str) -> Path:
    """Return a file with this content; there is one for each name."""
    path = folder() / name
    path.write_bytes(data)
    return path
