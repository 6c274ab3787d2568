"""Writes a page to a file: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from controller_client.common.new_file import new_file
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
            with new_file(target, durable=True) as new:
                new.write_bytes(text.encode())
    except OSError as error:
        raise ConfigError(
            f"the page cannot be written: {error.strerror}",
            expected="a file in a folder that exists and can be written to",
            where=str(file),
            remedy="name another file",
        ) from error
