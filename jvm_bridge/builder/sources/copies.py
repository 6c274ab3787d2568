"""Copies of source files, unpacked or converted; limited, as a megabyte of gzip may unpack to gigabytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from controller_client.segment_tar import TarLimits
from jvm_bridge.builder.model import SourceFile, UnreadableFileError

__all__ = ["Writable", "open_copy"]


class Writable(Protocol):
    """What a copy is written to."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""


@contextmanager
def open_copy(file: SourceFile, copy: Path) -> Iterator[Writable]:
    """Open a copy of a file for writing.

    Args:
        file: The file.
        copy: Path of the copy.

    Raises:
        UnreadableFileError: While it is written: it is larger than a tar of that size may unpack to.
    """
    max_bytes = TarLimits().unpacked_bytes(file.path.stat().st_size)
    with copy.open("wb") as out:
        yield _Limited(out, file, max_bytes)


class _Limited:
    def __init__(self, out: IO[bytes], file: SourceFile, max_bytes: int) -> None:
        self._out = out
        self._file = file
        self._max_bytes = max_bytes
        self._left = max_bytes

    def write(self, data: bytes) -> int:
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableFileError(
                f"{self._file.name} has more than {self._max_bytes:,} bytes when it is unpacked and"
                " converted to UTF-8",
                expected="at most 256 MiB and 100 times the size of the file",
                where=self._file.where,
                remedy="write it in UTF-8, without a byte-order mark and with each name of its header once,"
                " so that it is read without a copy, or write it without compression",
            )
        return self._out.write(data)
