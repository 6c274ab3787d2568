"""Converts CSV and JSON files to UTF-8 without a byte-order mark, which is what both readers assume.

Pinot's reader replaces bytes that are not UTF-8 by U+FFFD, and treats a byte-order mark as part of the first
column's name; so each file is checked before a reader opens it.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.sources.copies import Writable, open_copy
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes
from jvm_bridge.input_rules import FileFormat

__all__ = ["BYTE_ORDER_MARKS", "TextFound", "check_text"]

_CHUNK_BYTES = 1 << 20
_LONGEST_MARK_BYTES = 4
_UTF_8 = "utf-8"
# UTF-32 first: its mark starts like that of UTF-16.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF8, _UTF_8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)


@dataclass(frozen=True)
class TextFound:
    """The result of the check.

    Attributes:
        copied: Whether the copy must be read instead of the file.
        absent_keys: The given keys that do not occur in the text.
    """

    copied: bool
    absent_keys: frozenset[str]


def check_text(file: SourceFile, encoding: str, copy: Path, keys: Collection[str] = ()) -> TextFound:
    """Check a file, and convert it if it is not UTF-8 or starts with a byte-order mark.

    Args:
        file: CSV or JSON, possibly gzipped. Truncated gzip data is left to the reader if that reads the
            original file, as it reports the row.
        encoding: As returned by `jvm_bridge.input_rules.text_encoding`.
        copy: Path for the converted, unpacked copy.
        keys: Keys of JSON objects to look for.

    Raises:
        UnreadableFileError: It has the byte-order mark of another encoding, is corrupt at its start, or the
            copy would be too large.
        DataError: It has bytes that are not valid in the encoding, or truncated gzip data to be copied.
    """
    with closing(open_bytes(file.path)) as stream:
        try:
            first = stream.read(_LONGEST_MARK_BYTES)
        except CORRUPT_GZIP as error:
            # Pinot treats data without a complete gzip header as plain text: a CSV file without rows.
            raise UnreadableFileError(
                f"{file.name} cannot be read as {file.file_format}: its gzip header is corrupt",
                expected="a complete file",
                where=file.where,
            ) from error
        mark = _mark(file, first, encoding)
        text = _Text(file, encoding, keys if file.file_format is FileFormat.JSON else ())
        if not mark and encoding in (_UTF_8, "ascii"):
            text.read(first, stream, None)
            return TextFound(False, text.absent_keys)
        with open_copy(file, copy) as out:
            text.read(first, stream, out)
        return TextFound(True, text.absent_keys)


def _mark(file: SourceFile, first: bytes, encoding: str) -> bytes:
    """Return the byte-order mark; reject one that contradicts the encoding."""
    marks = [each for each in BYTE_ORDER_MARKS if first.startswith(each[0])]
    for mark, family, exactly in marks:
        if encoding in (family, exactly):
            return mark
    if marks:
        family = marks[0][1].upper()
        raise UnreadableFileError(
            f"{file.name} starts with the byte-order mark of {family}",
            expected=f"text in {encoding.upper()}, as set by inputEncoding (default: UTF-8)",
            where=file.where,
            remedy=f"set inputEncoding to {family}, or write the file in {encoding.upper()}",
        )
    if encoding in ("utf-16", "utf-32") and first:
        name = encoding.upper()
        raise UnreadableFileError(
            f"{file.name} has no byte-order mark, so the byte order of {name} is unknown",
            expected=f"text in {name}, as set by inputEncoding",
            where=file.where,
            remedy=f"set inputEncoding to {name}LE or {name}BE",
        )
    return b""


class _Text:
    def __init__(self, file: SourceFile, encoding: str, keys: Collection[str]) -> None:
        self._file = file
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._offset = 0
        self._lines = 0
        self._is_begin = True
        # As written in JSON; a writer may escape characters that are not ASCII.
        self._sought = {key: {json.dumps(key), json.dumps(key, ensure_ascii=False)} for key in keys}
        self._overlap = max((len(form) for forms in self._sought.values() for form in forms), default=0)
        self._tail = ""

    @property
    def absent_keys(self) -> frozenset[str]:
        return frozenset(self._sought)

    def read(self, first: bytes, stream: IO[bytes], out: Writable | None) -> None:
        chunk = first
        while True:
            text = self._decoded(chunk)
            if self._sought:
                self._seek(text)
            if out is not None:
                out.write(text.encode())
            if not chunk:
                return
            try:
                chunk = stream.read(_CHUNK_BYTES)
            except CORRUPT_GZIP as error:
                if out is None:
                    return
                raise DataError(
                    f"{self._file.name}, line {self._lines + 1}: its gzip data is truncated or corrupt",
                    expected="a complete file",
                    where=f"{self._file.where}, line {self._lines + 1}",
                ) from error

    def _decoded(self, chunk: bytes) -> str:
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            self._decoder.setstate(state)
            good = error.start - len(state[0])
            self._lines += self._decoder.decode(chunk[: max(good, 0)]).count("\n")
            offset = self._offset + good
            found = f"0x{error.object[error.start]:02x}"
            name = self._encoding.upper()
            raise DataError(
                f"{self._file.name}, line {self._lines + 1}: the byte {found} at offset {offset:,} does not"
                f" start a character in {name}",
                expected=f"text in {name}, as set by inputEncoding (default: UTF-8)",
                where=f"{self._file.where}, line {self._lines + 1}, byte offset {offset}",
                remedy="set inputEncoding to the encoding of the files, such as ISO-8859-1 or windows-1252,"
                f" or write the files in {name}",
            ) from None
        self._offset += len(chunk)
        self._lines += text.count("\n")
        if self._is_begin and text:
            self._is_begin = False
            return text.removeprefix("\ufeff")
        return text

    def _seek(self, text: str) -> None:
        text = self._tail + text
        found = [key for key, forms in self._sought.items() if any(form in text for form in forms)]
        for key in found:
            del self._sought[key]
        self._tail = text[-self._overlap :]
