"""The first line of a CSV file: the names of its columns.

Arrow and the versions of Pinot's reader differ in which names they reject: without text, or twice. Only the
names of columns that the table reads matter; so a header with others like that is written again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.copies import open_copy
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes

__all__ = ["CsvHeader", "read_header", "write_with_header"]

_LONGEST_BYTES = 1 << 20
_UNREADABLE: tuple[type[Exception], ...] = (OSError, *CORRUPT_GZIP)


@dataclass(frozen=True)
class CsvHeader:
    """The header.

    Attributes:
        names: The names as written, without quotes.
        size_bytes: Where the first row begins in the unpacked file.
    """

    names: tuple[str, ...]
    size_bytes: int


def read_header(path: Path, delimiter: str) -> CsvHeader:
    """Read the first line that is not empty.

    Raises:
        Unsuitable: There is none, or it cannot be read.
    """
    try:
        with closing(open_bytes(path)) as stream:
            lines = io.StringIO(stream.read(_LONGEST_BYTES).decode("utf-8", errors="ignore"), newline="")
    except _UNREADABLE as error:
        raise Unsuitable(f"unreadable: {error}") from error
    try:
        names = next((row for row in csv.reader(lines, delimiter=delimiter) if row), None)
    except csv.Error as error:
        raise Unsuitable(f"the header cannot be read: {error}") from error
    if names is None:
        raise Unsuitable("the file has no header")
    size_bytes = len(lines.getvalue()[: lines.tell()].encode())
    if size_bytes > _LONGEST_BYTES - 4:  # a character at the end may be cut
        raise Unsuitable(f"the header has more than {_LONGEST_BYTES:,} bytes")
    return CsvHeader(tuple(names), size_bytes)


def write_with_header(
    file: SourceFile, header: CsvHeader, names: Sequence[str], delimiter: str, copy: Path
) -> None:
    """Write the rows of a file with other names.

    Raises:
        UnreadableFileError: The copy would be too large.
    """
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(names)
    with closing(open_bytes(file.path)) as stream, open_copy(file, copy) as out:
        out.write(line.getvalue().encode())
        stream.read(header.size_bytes)
        while piece := stream.read(_LONGEST_BYTES):
            out.write(piece)
