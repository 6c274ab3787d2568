"""Writes a page to a file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from controller_client.errors import ConfigError

__all__ = ["write_page"]


def write_page(file: Path, text: str) -> None:
    """Write a page; whoever reads the file meanwhile sees the old page or the new one, whole.

    Args:
        file: Where to. Of a link, the file that it leads to is replaced; what is no file (a pipe,
            ``/dev/stdout``) is written as it is.
        text: The page.

    Raises:
        ConfigError: The file cannot be written there; a page that was there before is as it was.
    """
    try:
        target = file.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(text.encode())
        else:
            _replace(target, text.encode())
    except OSError as error:
        raise ConfigError(
            f"the page cannot be written: {error.strerror}",
            expected="a file in a folder that exists and can be written to",
            where=str(file),
            remedy="name another file",
        ) from error


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".new", dir=target.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        new.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        new.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _umask() -> int:
    # There is no other way to read it than to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
