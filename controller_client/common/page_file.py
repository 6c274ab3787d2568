"""Writes a page to a file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
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
    new = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.new")
    present = target.stat().st_mode & 0o777 if target.exists() else None
    # The system itself applies the umask, which Python could only read by changing it for all threads.
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if present is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            if present is not None:
                os.fchmod(handle, present)
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        new.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
