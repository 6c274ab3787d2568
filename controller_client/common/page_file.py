"""Writes a page to a file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from controller_client.errors import ConfigError

__all__ = ["write_page"]


def write_page(file: Path, text: str) -> None:
    """Write a page atomically: a concurrent reader sees either the complete old page or the new one.

    Args:
        file: The file to write. For a link, its target is replaced; if it is not a regular file (a pipe,
            ``/dev/stdout``), the page is written to it directly.
        text: The page.

    Raises:
        ConfigError: The file cannot be written; an existing page is unchanged.
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
    # It can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
