"""Reads a segment's tar.gz as a stream, trusting nothing in it and holding one piece of a file in memory.

It supports only what a segment needs: files and folders below one top folder, with long names as GNU tar or
pax write them. The gzip stream must be one member with correct checksum and length, and nothing may follow
it: Pinot would not read that.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NoReturn

from controller_client.common.parsing import whole_number
from controller_client.errors import DataError

__all__ = ["TarEntry", "TarLimits", "read_tar"]

_BLOCK = 512
_RAW_BYTES = 1 << 18
_PIECE_BYTES = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS
"""zlib's notation for: a gzip header, and a trailer whose checksum and length are verified."""

_MAX_ENTRIES = 20_000
_MAX_NAME_BYTES = 1024
_MAX_PART_BYTES = 255
_MAX_PARTS = 8
_MAX_NAMES_BYTES = 4 << 20
"""For all entries together: the names are kept to detect duplicates."""
_MAX_PAX_BYTES = 1 << 16
_MAX_END_BYTES = 1 << 20
"""Zeros after the last entry; tar pads to a multiple of 10 KiB."""

_FILE, _OLD_FILE, _FOLDER, _LONG_NAME, _PAX = b"0", b"\0", b"5", b"L", b"x"
_MIB = 1 << 20
_GIB = 1 << 30


@dataclass(frozen=True)
class TarLimits:
    """How much of a tar is read before it is rejected.

    Attributes:
        max_tar_bytes: Maximum size of the tar.gz.
        max_unpacked_bytes: Maximum unpacked size; None: 100 times the size of the tar.gz plus 256 MiB.
    """

    max_tar_bytes: int = 16 * _GIB
    max_unpacked_bytes: int | None = None

    def for_size(self, size_bytes: int | None) -> TarLimits:
        """Narrow the limits to fit the size in a segment's metadata.

        A server's tar may be larger because of indexes that were added after the segment was committed.

        Args:
            size_bytes: Size of the tar or of the unpacked segment; None: unknown.
        """
        if size_bytes is None:
            return self
        return replace(self, max_tar_bytes=min(self.max_tar_bytes, 8 * size_bytes + 256 * _MIB))

    def unpacked_bytes(self, tar_bytes: int) -> int:
        """Return the maximum unpacked size of a tar of the given size."""
        return 100 * tar_bytes + 256 * _MIB if self.max_unpacked_bytes is None else self.max_unpacked_bytes


@dataclass(frozen=True)
class TarEntry:
    """A file or folder.

    Attributes:
        top: Name of the top folder, the same for all entries.
        path: Path below the top folder, with slashes; empty: the top folder itself.
        is_folder: Whether it is a folder.
        size_bytes: Length of the file.
        pieces: The file's content, to be read before the next entry is requested.
    """

    top: str
    path: str
    is_folder: bool
    size_bytes: int
    pieces: Iterator[bytes]


def read_tar(tar_path: Path, limits: TarLimits) -> Iterator[TarEntry]:
    """Yield the entries of a segment's tar.gz one by one; once all are read, all of it has been checked.

    Args:
        tar_path: The file.
        limits: How much may be read.

    Raises:
        DataError: The file is not a complete tar.gz with one top folder, contains anything but files and
            folders, a path that leads out of the folder or a duplicate path, or exceeds the limits.
        OSError: The file cannot be read.
    """
    tar_bytes = tar_path.stat().st_size
    if tar_bytes > limits.max_tar_bytes:
        _refuse(tar_path, f"it has {tar_bytes:,} bytes, more than the allowed {limits.max_tar_bytes:,}")
    with tar_path.open("rb") as file:
        yield from _Tar(tar_path, file, limits.unpacked_bytes(tar_bytes)).entries()


class _Tar:
    """One tar.gz that is being read."""

    def __init__(self, tar_path: Path, file: BinaryIO, max_bytes: int) -> None:
        self._path = tar_path
        self._file = file
        self._inflate = zlib.decompressobj(_GZIP)
        self._ready = memoryview(b"")
        self._left = self._max_bytes = max_bytes
        self._names_left = _MAX_NAMES_BYTES
        self._top: str | None = None
        self._folders: set[str] = set()
        self._files: set[str] = set()

    def entries(self) -> Iterator[TarEntry]:
        number = 0
        while (header := self._header()) is not None:
            number += 1
            if number > _MAX_ENTRIES:
                self._refuse(f"it contains more than {_MAX_ENTRIES:,} entries")
            name, is_folder, size_bytes = header
            entry = self._entry(name, is_folder, size_bytes)
            yield entry
            for _ in entry.pieces:  # what the caller has not read
                pass
            self._skip(-size_bytes % _BLOCK)
        self._check_end()
        if self._top is None:
            self._refuse("it is empty")

    def _entry(self, name: str, is_folder: bool, size_bytes: int) -> TarEntry:
        top, path = self._checked_path(name)
        if self._top not in (None, top):
            self._refuse(f"entry {_shown(name)}: the tar has more than one top folder")
        self._top = top
        if not path and not is_folder:
            self._refuse(f"entry {_shown(name)}: a file in place of the segment's folder")
        above = path
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in self._files:
                self._refuse(f"entry {_shown(name)}: {_shown(above)} is a file")
            self._folders.add(above)
        if path in self._files or (not is_folder and path in self._folders):
            self._refuse(f"entry {_shown(name)} appears twice")
        (self._folders if is_folder else self._files).add(path)
        return TarEntry(top, path, is_folder, size_bytes, self._pieces(size_bytes))

    def _checked_path(self, name: str) -> tuple[str, str]:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if (
            name.startswith("/")
            or not parts
            or len(parts) > _MAX_PARTS
            or ".." in parts
            or "\\" in name
            or not name.isprintable()
            or any(len(part.encode()) > _MAX_PART_BYTES for part in parts)
        ):
            self._refuse(f"entry {_shown(name)}: not a path below the segment's folder")
        return parts[0], "/".join(parts[1:])

    def _header(self) -> tuple[str, bool, int] | None:
        """Read the headers of the next file or folder; None at the end of the tar."""
        long_name: str | None = None
        pax: dict[str, str] = {}
        for _ in range(3):
            block = self._exactly(_BLOCK)
            if not block.strip(b"\0"):
                return None
            self._check_sum(block)
            kind, size_bytes = block[156:157], self._number(block[124:136])
            if kind == _LONG_NAME:
                raw = self._extension(size_bytes, _MAX_NAME_BYTES + 1)
                long_name = self._text(raw.rstrip(b"\0"))
            elif kind == _PAX:
                pax = self._pax(self._extension(size_bytes, _MAX_PAX_BYTES))
            else:
                return self._described(block, kind, size_bytes, long_name, pax)
        return self._refuse("its headers describe no file")

    def _described(
        self, block: bytes, kind: bytes, size_bytes: int, long_name: str | None, pax: dict[str, str]
    ) -> tuple[str, bool, int]:
        name = pax.get("path", long_name)
        if name is None:
            # GNU's own format has other fields where ustar has the start of a long path.
            prefix = _field(block[345:500]) if block[257:263] == b"ustar\0" else b""
            name = self._text(prefix + b"/" + _field(block[:100]) if prefix else _field(block[:100]))
        self._names_left -= len(name.encode())
        if len(name.encode()) > _MAX_NAME_BYTES or self._names_left < 0:
            self._refuse(f"entry {_shown(name)}: its name is too long")
        if "size" in pax:
            digits = pax["size"]
            stated = whole_number(digits)
            if stated is None:
                self._refuse(f"entry {_shown(name)}: its size is {digits[:40]!r}")
            size_bytes = self._bounded(stated)
        if kind not in (_FILE, _OLD_FILE, _FOLDER):
            self._refuse(f"entry {_shown(name)} is a link, a device or something else than a file or folder")
        is_folder = kind == _FOLDER
        if (is_folder and size_bytes) or (not is_folder and name.endswith("/")):
            self._refuse(f"entry {_shown(name)} is neither a file nor a folder")
        return name, is_folder, size_bytes

    def _extension(self, size_bytes: int, most: int) -> bytes:
        if size_bytes > most:
            self._refuse(f"an entry is preceded by a header of {size_bytes:,} bytes")
        raw = self._exactly(size_bytes)
        self._skip(-size_bytes % _BLOCK)
        return raw

    def _pax(self, raw: bytes) -> dict[str, str]:
        """Parse pax records: lines of ``<length> <key>=<value>``."""
        records = {}
        while raw:
            digits, blank, _ = raw[:8].partition(b" ")
            length = (whole_number(digits) if blank else None) or 0
            whole = len(digits) < length <= len(raw)
            record, raw = raw[len(digits) + 1 : length], raw[length:]
            key, equals, value = record[:-1].partition(b"=")
            if not whole or not equals or record[-1:] != b"\n" or key.startswith(b"GNU.sparse"):
                self._refuse("a pax header cannot be read, or describes a sparse file")
            if key in (b"path", b"size"):
                records[key.decode()] = self._text(value)
        return records

    def _check_sum(self, block: bytes) -> None:
        if self._number(block[148:156]) != sum(block) - sum(block[148:156]) + 8 * ord(" "):
            self._refuse("the checksum of a header is wrong")

    def _number(self, field: bytes) -> int:
        if field[0] == 0x80:  # GNU's encoding of numbers with too many octal digits
            return self._bounded(int.from_bytes(field[1:], "big"))
        digits = field.strip(b" \0")
        if digits.strip(b"01234567"):
            self._refuse(f"a header contains the number {digits!r}")
        return self._bounded(int(digits or b"0", 8))

    def _bounded(self, size_bytes: int) -> int:
        if size_bytes > self._max_bytes:
            self._refuse_size()
        return size_bytes

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self._refuse(f"a name is not UTF-8: {raw[:100]!r}")

    def _pieces(self, size_bytes: int) -> Iterator[bytes]:
        while size_bytes:
            piece = self._some(size_bytes)
            size_bytes -= len(piece)
            yield bytes(piece)

    def _exactly(self, size_bytes: int) -> bytes:
        return b"".join(self._pieces(size_bytes))

    def _skip(self, size_bytes: int) -> None:
        for _ in self._pieces(size_bytes):
            pass

    def _some(self, most: int) -> memoryview:
        """Return the next bytes, at least one."""
        if not self._ready and not self._fill():
            self._refuse("it ends within its last entry")
        piece, self._ready = self._ready[:most], self._ready[most:]
        return piece

    def _fill(self) -> bool:
        """Inflate the next piece; False at the end of the gzip stream."""
        while not self._ready:
            if self._inflate.eof:
                return False
            raw = self._inflate.unconsumed_tail or self._file.read(_RAW_BYTES)
            try:
                self._ready = memoryview(self._inflate.decompress(raw, _PIECE_BYTES))
            except zlib.error as error:
                self._refuse(f"its gzip stream is damaged ({error})")
            if not (raw or self._ready or self._inflate.eof):
                self._refuse("it is truncated")
            self._left -= len(self._ready)
            if self._left < 0:
                self._refuse_size()
        return True

    def _check_end(self) -> None:
        """Read what follows the last entry: zeros, then the end of the gzip stream and of the file."""
        end_bytes = 0
        while self._ready or self._fill():
            end_bytes += len(self._ready)
            if end_bytes > _MAX_END_BYTES or bytes(self._ready).strip(b"\0"):
                self._refuse("something follows the end of the tar")
            self._ready = memoryview(b"")
        if self._inflate.unused_data or self._file.read(1):
            self._refuse("something follows the end of the gzip stream")

    def _refuse_size(self) -> NoReturn:
        self._refuse(f"it unpacks to more than the allowed {self._max_bytes:,} bytes")

    def _refuse(self, reason: str) -> NoReturn:
        _refuse(self._path, reason)


def _refuse(tar_path: Path, reason: str) -> NoReturn:
    raise DataError(
        f"this is not a usable tar.gz of a segment: {reason}",
        expected="one folder with a segment, in one complete gzip stream",
        where=str(tar_path),
    )


def _field(raw: bytes) -> bytes:
    return raw.partition(b"\0")[0]


def _shown(name: str) -> str:
    return repr(name if len(name) <= 100 else name[:100] + "...")
