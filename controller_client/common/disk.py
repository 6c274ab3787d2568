"""Recognizes full disks in whatever errors they cause, and reports them as such."""

from __future__ import annotations

import errno
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller_client.errors import DiskFullError, PinotPluginError

__all__ = ["disk_full", "naming_full_disks"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TEXTS = ("No space left on device", "Disk quota exceeded", "File too large")
"""Texts of the same errors in Java's exceptions."""
_MAPPED = "unsafe memory access operation"
"""Java's text for a page of a mapped file that cannot be written."""


def disk_full(error: BaseException, folder: Path) -> DiskFullError | None:
    """Return the error to raise instead of one caused by a full disk; None if it had another cause.

    The texts of this project's own errors do not count: they may quote a file's content.

    Args:
        error: The caught error; its causes count too.
        folder: The folder that was written to.
    """
    if isinstance(error, DiskFullError):
        return error
    causes = [cause for cause in _causes(error) if not isinstance(cause, PinotPluginError)]
    if any(map(_is_of_full_disk, causes)):
        text = f"no space is left on the disk of {folder}"
    elif any(_MAPPED in str(cause) for cause in causes):
        text = f"a memory-mapped file in {folder} could not be written: the disk is full or has failed"
    else:
        return None
    return DiskFullError(
        f"{text}; {_figures(folder)}",
        where=str(folder),
        remedy="free space there; the files are not at fault",
    )


@contextmanager
def naming_full_disks(folder: Path) -> Iterator[None]:
    """Replace an error caused by a full disk with one that names the cause.

    Raises:
        DiskFullError: The disk of the folder is full.
    """
    try:
        yield
    except Exception as error:
        full = disk_full(error, folder)
        if full is None or full is error:
            raise
        raise full from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _is_of_full_disk(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(text in str(error) for text in _TEXTS)


def _figures(folder: Path) -> str:
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    usage = shutil.disk_usage(existing)
    # A partly written file may already have been deleted.
    text = f"the disk has {usage.total:,} bytes, {usage.free:,} of them free now"
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return text
    return f"{text}; files may have at most {limit:,} bytes (ulimit -f)"
