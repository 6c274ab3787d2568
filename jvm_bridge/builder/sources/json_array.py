"""Rejects a JSON array that is followed by more data: Pinot's reader silently stops at the array's end.

So a file with several arrays would lose the rows of all but the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes

__all__ = ["check_array"]

_CHUNK_BYTES = 1 << 20
_BLANKS = b" \t\r\n"
# Text that cannot follow a bracket in an array of objects without nested arrays, except within a string.
_MORE = re.compile(rb"\][ \t\r\n]*+(?:[^ \t\r\n,\]}]|,[ \t\r\n]*+[\[{])")
_BRACKET = re.compile(rb"[\[\]]")


def check_array(file: SourceFile) -> None:
    """Check a JSON file that starts with an array.

    Args:
        file: UTF-8, possibly gzipped. Truncated gzip data is left to the reader.

    Raises:
        DataError: More data follows the array.
    """
    # Only the second pass skips strings, which takes twenty times as long.
    if _may_have_more(_chunks(file)) and _has_more(_chunks(file)):
        raise DataError(
            f"{file.name} has data after a JSON array, which Pinot's reader would skip",
            expected="one array of objects, or objects without an enclosing array",
            where=file.where,
            remedy="write each array to its own file, or write one JSON object per line",
        )


def _chunks(file: SourceFile) -> Iterator[bytes]:
    with closing(open_bytes(file.path)) as stream:
        try:
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk
        except CORRUPT_GZIP:
            return


def _may_have_more(chunks: Iterable[bytes]) -> bool:
    is_first, ending = True, b""
    for chunk in chunks:
        if is_first and not chunk.lstrip(_BLANKS).startswith(b"["):
            return False
        is_first = False
        text = ending + chunk
        if _MORE.search(text):
            return True
        last = text.rfind(b"]")
        behind = text[last + 1 :]
        is_open = last >= 0 and not behind.strip(_BLANKS + b",")
        ending = (b"]," if b"," in behind else b"]") if is_open else b""
    return False


def _has_more(chunks: Iterable[bytes]) -> bool:
    depth = 0
    is_over = False
    for outside in _outside_texts(chunks):
        behind = outside if is_over else b""
        for bracket in () if is_over else _BRACKET.finditer(outside):
            depth += 1 if bracket[0] == b"[" else -1
            if depth == 0:
                is_over, behind = True, outside[bracket.end() :]
                break
        if behind.strip(_BLANKS):
            return True
    return False


def _outside_texts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks with each string reduced to one quote."""
    is_text, escape = False, b""
    for chunk in chunks:
        # Whether a backslash is escaped depends on all backslashes before it.
        text = (escape + chunk).replace(rb"\\", b"")
        escape = text[len(text.rstrip(b"\\")) :]
        parts = text[: len(text) - len(escape)].replace(rb"\"", b"").split(b'"')
        outside = parts[is_text::2]
        is_text ^= len(parts) % 2 == 0
        yield b'"'.join(outside) + b'"' * (is_text and len(parts) > 1)
