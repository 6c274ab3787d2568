"""Full disks: recognised in whatever error they end in, and reported as such."""

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
"""How Java's exceptions describe the same errors."""
_MAPPED = "unsafe memory access operation"
"""How Java describes it where a page of a mapped file cannot be written."""


def disk_full(error: BaseException, folder: Path) -> DiskFullError | None:
    """Return the error to raise in the place of one that a full disk has caused; None where none did.

    Texts of this project's own errors do not count: they may quote a file's.

    Args:
        error: What was caught; its causes count.
        folder: Where was written.
    """
    if isinstance(error, DiskFullError):
        return error
    causes = [cause for cause in _causes(error) if not isinstance(cause, PinotPluginError)]
    if any(map(_is_of_full_disk, causes)):
        text = f"no space is left on the disk of {folder}"
    elif any(_MAPPED in str(cause) for cause in causes):
        text = f"a mapped file in {folder} could not be written: no space is left, or its disk has failed"
    else:
        return None
    return DiskFullError(
        f"{text}; {_figures(folder)}",
        where=str(folder),
        remedy="free space there; the files are not at fault",
    )


@contextmanager
def naming_full_disks(folder: Path) -> Iterator[None]:
    """Turn an error that a full disk has caused into one that names the cause.

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
    there = next(each for each in (folder, *folder.parents) if each.exists())
    usage = shutil.disk_usage(there)
    # What was half written may be deleted already.
    text = f"the disk has {usage.total:,} bytes, {usage.free:,} of them free now"
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return text
    return f"{text}, for files of {limit:,} bytes at most (ulimit -f)"
