"""Rows of a text file that Java parses into arrays, block by block.

Text that another parser may read differently is :class:`~jvm_bridge.builder.planning.Unsuitable`, with the
row and column.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import jpype
import jpype.nio
import pyarrow as pa

from jvm_bridge.builder.java_classes import classes_of
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.java_arrays import ARRAYS_PACKAGE, arrow_array
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = ["JAVA_TYPES", "line_reader", "read_batches", "read_lines"]

T = TypeVar("T")
_UNREADABLE: tuple[type[Exception], ...] = (OSError, *CORRUPT_GZIP)

JAVA_TYPES: Mapping[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "LONG",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
}
"""The names of types in Java."""

_PACKAGE = "io.pinotplugins.lines"
_BLOCK_BYTES = 4 << 20
_BATCH_ROWS = 65_536


class _SharedBlock(threading.local):
    """A block of memory for each thread, which Java reads as it is: JPype would convert bytes one by one.

    JPype keeps such memory until Java collects its garbage, which a block for each file would not be.
    """

    def __init__(self) -> None:
        self._block = memoryview(bytearray(_BLOCK_BYTES))
        self._buffer: Any = None

    def filled(self, data: bytes) -> Any:
        """Return Java's buffer, which begins with these bytes until the next call."""
        if self._buffer is None:
            self._buffer = jpype.nio.convertToDirectBuffer(self._block)
        self._block[: len(data)] = data
        return self._buffer


_shared = _SharedBlock()


def line_reader(name: str) -> Any:
    """Return a Java class that reads lines.

    Raises:
        Unsuitable: This Java has no compiler.
    """
    return classes_of("text cannot be read with", _PACKAGE, ARRAYS_PACKAGE)[f"{_PACKAGE}.{name}"]


def read_lines(path: Path, lines: Any, read: Callable[[], T]) -> Iterator[T]:
    """Pass a file to Java block by block; yield what it reads.

    Args:
        path: UTF-8 without a byte-order mark, possibly gzipped.
        lines: ``Lines.java``.
        read: Calls Java; what it returns is false when more bytes are needed.

    Raises:
        Unsuitable: The file is unreadable, or only Pinot's own parser can read it.
    """
    try:
        with closing(open_bytes(path)) as stream:
            data: bytes | None = None
            while data != b"":
                data = stream.read(_BLOCK_BYTES)
                lines.add(_shared.filled(data), len(data))
                while result := read():
                    yield result
    except JAVA_ERRORS as error:
        raise Unsuitable(root_causes(error).removeprefix("UnsuitableException: ")) from error
    except _UNREADABLE as error:
        raise Unsuitable(f"unreadable: {error}") from error


def read_batches(
    path: Path, lines: Any, values: Mapping[str, Any], types: Mapping[str, pa.DataType]
) -> Iterator[tuple[dict[str, Any], int]]:
    """Read a file in batches.

    Args:
        path: See :func:`read_lines`.
        lines: Likewise.
        values: The values of each column, as selected in Java.
        types: The type of each column.

    Yields:
        The columns as Arrow arrays, and the number of their rows.

    Raises:
        Unsuitable: See :func:`read_lines`.
    """
    for rows in read_lines(path, lines, lambda: int(lines.next(_BATCH_ROWS))):
        yield {name: arrow_array(values[name], kind) for name, kind in types.items()}, rows
