"""Writes a file whole or not at all: under another name next to it, which then replaces it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from controller_client.errors import ConfigError

__all__ = ["new_file", "write_page"]


_KEPT_OF_NAME = 40


@contextmanager
def new_file(target: Path, *, durable: bool = False) -> Iterator[Path]:
    """Provide an empty file that replaces the target at the end of the block; after an error it is deleted.

    Its name cannot be guessed, and it did not exist before: in a folder that others can write to, a link that
    is waiting there is not followed. It has the target's permissions, or else those of any new file.

    Args:
        target: The file to write; its folder must exist.
        durable: Whether the content must be on the disk before it gets the target's name. Otherwise, a power
            cut may leave an empty file of that name.

    Raises:
        OSError: The folder or the file cannot be written.
    """
    new = target.with_name(f".{target.name[:_KEPT_OF_NAME]}.{uuid.uuid4().hex}.new")
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        if target.is_file():
            new.chmod(target.stat().st_mode & 0o777)
        yield new
        if durable:
            _sync(new)
        new.replace(target)
        if durable:
            _sync(target.parent)
    finally:
        with suppress(OSError):
            new.unlink()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
            with new_file(target, durable=True) as new:
                new.write_bytes(text.encode())
    except OSError as error:
        raise ConfigError(
            f"the page cannot be written: {error.strerror}",
            expected="a file in a folder that exists and can be written to",
            where=str(file),
            remedy="name another file",
        ) from error
