"""Folders of a process: locked during its lifetime, and swept after it was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from controller_client.clock import Clock, SystemClock

__all__ = ["FolderLock", "scratch_folder"]

_LOCK = ".lock"
_UNLOCKED_FOR_S = 60.0


class FolderLock:
    """An exclusive lock on a folder; it is released when the process ends, however it ends.

    Args:
        folder: The folder; created when the lock is acquired.
        name: Name of the locked file in it, which contains the holder.
    """

    def __init__(self, folder: Path, name: str = "lock") -> None:
        self._path = folder / name
        self._file: IO[str] | None = None

    def try_acquire(self) -> bool:
        """Acquire the lock; return False if another process, or another lock of this one, holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        except BlockingIOError:
            file.close()
            return False
        except BaseException:
            file.close()
            raise
        self._file = file
        return True

    def holder(self) -> int | None:
        """Return the process that last acquired the lock; None if there is none."""
        try:
            return int(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def release(self) -> None:
        """Release the lock; does nothing if it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None


@contextmanager
def scratch_folder(prefix: str, parent: Path | None = None, clock: Clock | None = None) -> Iterator[Path]:
    """Create a temporary folder, and delete it at the end.

    The leftovers of a killed process are deleted by the next one that creates a folder with the same prefix.

    Args:
        prefix: Prefix of its name, e.g. ``pinot-push-``.
        parent: Its parent; default: the system's folder for temporary files.
        clock: Time, to determine the age of a folder without a lock.
    """
    where = parent or Path(tempfile.gettempdir())
    _sweep(where, prefix, clock or SystemClock())
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        lock = FolderLock(folder, _LOCK)
        # Another process may have swept it before it was locked.
        if lock.try_acquire() and (folder / _LOCK).exists():
            break
        lock.release()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _sweep(parent: Path, prefix: str, clock: Clock) -> None:
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # it belongs to another user, or another process is sweeping it
            _sweep_one(folder, clock)


def _sweep_one(folder: Path, clock: Clock) -> None:
    stat = folder.lstat()
    if folder.is_symlink() or not folder.is_dir() or stat.st_uid != os.geteuid():
        return
    if not (folder / _LOCK).exists():
        # Just created and not locked yet, or left by a process that was killed at that moment.
        if clock.now() - stat.st_mtime > _UNLOCKED_FOR_S:
            folder.rmdir()
        return
    lock = FolderLock(folder, _LOCK)
    if lock.try_acquire():
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()
