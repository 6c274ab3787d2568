"""Refuses a JSON array with something behind it: Pinot's reader stops at the array's end without a word.

So arrays that were written one after the other into a file would lose the rows of all but the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing

from controller_client.errors import DataError
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes

__all__ = ["check_array"]

_CHUNK_BYTES = 1 << 20
_BLANKS = b" \t\r\n"
# What follows a bracket in no array of objects without arrays in arrays, unless both are within a text.
_MORE = re.compile(rb"\][ \t\r\n]*+(?:[^ \t\r\n,\]}]|,[ \t\r\n]*+[\[{])")
_BRACKET = re.compile(rb"[\[\]]")


def check_array(file: SourceFile) -> None:
    """Read a JSON file through, if an array is first in it.

    Args:
        file: UTF-8, perhaps gzipped. Gzip data that breaks off is left to the reader.

    Raises:
        DataError: Something is behind the array.
    """
    # Texts are told from brackets the second time alone, which takes twenty times as long.
    if _may_have_more(_chunks(file)) and _has_more(_chunks(file)):
        raise DataError(
            f"{file.name} has more than a JSON array, and Pinot's reader would leave out what is behind it",
            expected="one array of objects, or objects without an array around them",
            where=file.where,
            remedy="write each array into a file of its own, or a JSON object per line",
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
    """Leave one quote of each text."""
    is_text, escape = False, b""
    for chunk in chunks:
        # Whether a backslash stands for itself shows behind all those before it.
        text = (escape + chunk).replace(rb"\\", b"")
        escape = text[len(text.rstrip(b"\\")) :]
        parts = text[: len(text) - len(escape)].replace(rb"\"", b"").split(b'"')
        outside = parts[is_text::2]
        is_text ^= len(parts) % 2 == 0
        yield b'"'.join(outside) + b'"' * (is_text and len(parts) > 1)
