"""The log of one partition of the updates topic on the server's disk.

Messages are written to it before they are applied.
After :meth:`UpdatesLog.sync`, which runs before a version is reported as complete, they
survive a crash of the machine. Messages that a crash loses before that are still in the topic.

A record is ``length u4, crc32 u4, offset i8`` and the message's own bytes, little-endian; the checksum covers
offset and bytes. The folder has one file that grows and files that are full::

    <first offset>.open
    <first offset>-<next offset>-<greatest row>-<last version>-<its milliseconds>.log

The name of a full file has the values that are slow to find in it: the greatest offset of a row that its
events refer to, and the last version that ends in it (-1 for none). This is version 1 of the format; names of
later versions end with their number: ``.open.v2``, ``.log.v2``. The messages have their own version.
"""

from __future__ import annotations

import os
import re
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.common.formats import Format
from controller_client.errors import DataError, SourceError
from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events, VersionEnd, decode

__all__ = ["LOG_FORMAT", "LogSummary", "Message", "UpdatesLog"]

Message = tuple[int, bytes, Events | VersionEnd]
"""Its offset in the updates topic, its value, and the decoded value."""

LOG_FORMAT = Format("the log of updates on this server")

_HEAD = struct.Struct("<IIq")
_OFFSET = struct.Struct("<q")
_FULL = re.compile(r"(\d+)-(\d+)-(-?\d+)-(-?\d+)-(\d+)\.log")
_OPEN = re.compile(r"(\d+)\.open")
_LATER = re.compile(r"[-\d]+\.(?:open|log)\.v(\d{1,9})")
_FILE_BYTES = 64 << 20
_INDEX_BYTES = 256 << 10


@dataclass(frozen=True)
class LogSummary:
    """A summary of messages.

    Attributes:
        next: Offset after the last message in the updates topic; None without messages.
        greatest_row: The greatest offset of a row that an event refers to; -1 for none.
        version: The last version that ends in them; :data:`~controller_client.upsert.columns.NIL` for none.
        at_ms: When that version was complete at the coordinator, milliseconds since the epoch.
    """

    next: int | None = None
    greatest_row: int = -1
    version: int = NIL
    at_ms: int = 0

    def plus(self, offset: int, message: Events | VersionEnd) -> LogSummary:
        """Return the summary with one more message."""
        if isinstance(message, VersionEnd):
            return replace(self, next=offset + 1, version=message.version, at_ms=message.at_ms)
        greatest = max(self.greatest_row, int(message.offsets.max(initial=-1)))
        return replace(self, next=offset + 1, greatest_row=greatest)

    def then(self, later: LogSummary) -> LogSummary:
        """Return the summary of these messages and later ones."""
        at_end = later if later.version != NIL else self
        return LogSummary(
            self.next if later.next is None else later.next,
            max(self.greatest_row, later.greatest_row),
            at_end.version,
            at_end.at_ms,
        )


@dataclass(frozen=True)
class _File:
    path: Path
    first: int
    summary: LogSummary


class UpdatesLog:
    """One partition's log; :meth:`append` is for one thread, :meth:`read` and :meth:`sync` for any.

    Args:
        folder: Its folder; created if missing. An incomplete record at the end of a file, left by a crash, is
            truncated.
        file_bytes: A file of this size is full.
        index_bytes: Spacing of the index of the growing file; a read from an offset on reads at most this
            much before the offset.

    Raises:
        FormatVersionError: A later release wrote files in the folder, or messages in them.
        OSError: The files cannot be read or written.
    """

    def __init__(
        self, folder: Path, *, file_bytes: int = _FILE_BYTES, index_bytes: int = _INDEX_BYTES
    ) -> None:
        self._folder = folder
        self._file_bytes, self._index_bytes = file_bytes, index_bytes
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        _check_names(folder)
        self._full = sorted(_full_files(folder), key=lambda file: file.first)
        self._path: Path | None = None
        self._first = 0
        self._size = 0
        self._synced = 0
        self._open = LogSummary()
        self._index: list[tuple[int, int]] = []
        """A sparse index of the growing file: a next offset, and the number of bytes before it."""
        unfinished = sorted((int(path.stem), path) for path in folder.iterdir() if _OPEN.fullmatch(path.name))
        for first, path in unfinished:
            self._recover(first, path)

    def summary(self) -> LogSummary:
        """Return the summary of the whole log."""
        summary = LogSummary()
        with self._lock:
            for file in self._full:
                summary = summary.then(file.summary)
            return summary.then(self._open)

    def append(self, messages: Sequence[Message]) -> None:
        """Write messages, in their order.

        Raises:
            OSError: The file cannot be written; none of the messages count, write them again.
        """
        if not messages:
            return
        summary = self._open
        parts = []
        for offset, value, message in messages:
            summary = summary.plus(offset, message)
            check = zlib.crc32(value, zlib.crc32(_OFFSET.pack(offset)))
            parts += [_HEAD.pack(len(value), check, offset), value]
        data = b"".join(parts)
        if self._path is None:
            self._first = messages[0][0]
            self._path = self._folder / f"{self._first:020d}.open"
        with self._path.open("ab") as stream:
            # Remove what a failed attempt left after the last valid record.
            stream.truncate(self._size)
            stream.write(data)
        with self._lock:
            self._size += len(data)
            self._open = summary
            if self._size - (self._index[-1][1] if self._index else 0) >= self._index_bytes:
                self._index.append((summary.next or 0, self._size))
        if self._size >= self._file_bytes:
            self._finish_file()

    def sync(self) -> None:
        """Flush everything that was written to the disk.

        Raises:
            OSError: The file cannot be flushed.
        """
        with self._lock:
            path, size, is_new = self._path, self._size, not self._synced
            if path is None or size == self._synced:
                return
            _sync_file(path)
            if is_new:
                _sync_folder(self._folder)
            self._synced = size

    def read(self, since: int = 0, *, row: int = -1) -> Iterator[tuple[int, Events | VersionEnd]]:
        """Return the messages that are in the log now, from an offset of the updates topic on.

        Args:
            since: The offset.
            row: Skips files without an event about this offset of the input topic or a later one.

        Raises:
            OSError: A file cannot be read.
            DataError: A full file is corrupt; the growing file is checked when it is opened.
            FormatVersionError: A later release wrote a message in it.
        """
        with self._lock:
            files: list[tuple[_File, slice]] = [(file, slice(None)) for file in self._full]
            if self._path and self._size:
                begin = max(
                    (position for following, position in self._index if following <= since), default=0
                )
                files.append((_File(self._path, self._first, self._open), slice(begin, self._size)))
        for file, part in files:
            if (file.summary.next or 0) <= since or file.summary.greatest_row < row:
                continue
            content, end = self._content(file, part), 0
            for offset, value, end in _records(content):  # noqa: B007  # the end of the last record
                if offset >= since:
                    yield offset, decode(value, where=f"offset {offset} in {file.path}")
            if end < len(content):
                raise DataError(
                    f"a record in the log of updates is corrupt, at byte {end}",
                    where=str(file.path),
                    remedy="stop the server, delete the file's folder and start the server: it reads the "
                    "updates topic again",
                )

    def _content(self, file: _File, part: slice) -> bytes:
        try:
            return _part_of(file.path, part)
        except FileNotFoundError:
            # It has become full and was renamed, or it was deleted, as its rows are.
            with self._lock:
                return b"".join(_part_of(each.path, part) for each in self._full if each.first == file.first)

    def drop_rows_before(self, row: int) -> None:
        """Delete the first full files, up to one with an event about this row or a later one.

        The last end of a version stays: it shows how far the topic was read, and which version is complete.

        Args:
            row: Offset in the input topic of the first row that the table can have.

        Raises:
            OSError: A file cannot be deleted.
        """
        with self._lock:
            ends = [file.summary.version != NIL for file in self._full] + [self._open.version != NIL]
            while self._full and self._full[0].summary.greatest_row < row and any(ends[1:]):
                self._full[0].path.unlink(missing_ok=True)
                del self._full[0], ends[0]

    def _recover(self, first: int, path: Path) -> None:
        """Reopen the file that was growing when the process ended, up to its last complete record."""
        data = path.read_bytes()
        size, summary = 0, LogSummary()
        for offset, value, end in _records(data):
            try:
                summary = summary.plus(offset, decode(value, where=str(path)))
            except SourceError:
                break
            size = end
        if not size:
            path.unlink()
            return
        if size < len(data):
            with path.open("r+b") as stream:
                stream.truncate(size)
                os.fsync(stream.fileno())
        self._first, self._path, self._size, self._open = first, path, size, summary

    def _finish_file(self) -> None:
        assert self._path is not None  # noqa: S101  # set whenever something was written
        summary = self._open
        name = (
            f"{self._first:020d}-{summary.next}-{summary.greatest_row}-"
            f"{summary.version}-{summary.at_ms:d}.log"
        )
        with self._lock:
            _sync_file(self._path)
            target = self._path.rename(self._folder / name)
            self._full.append(_File(target, self._first, summary))
            self._path, self._size, self._synced, self._open = None, 0, 0, LogSummary()
            self._index = []
        _sync_folder(self._folder)


def _check_names(folder: Path) -> None:
    for path in folder.iterdir():
        if found := _LATER.fullmatch(path.name):
            LOG_FORMAT.check_number(int(found[1]), str(path))


def _part_of(path: Path, part: slice) -> bytes:
    begin, end = part.start or 0, part.stop
    with path.open("rb") as stream:
        stream.seek(begin)
        return stream.read(-1 if end is None else end - begin)


def _full_files(folder: Path) -> Iterator[_File]:
    for path in folder.iterdir():
        if found := _FULL.fullmatch(path.name):
            first, following, row, version, at_ms = map(int, found.groups())
            yield _File(path, first, LogSummary(following, row, version, at_ms))


def _records(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Return offset, message and end of each complete record, up to the first that is not."""
    start = 0
    while start + _HEAD.size <= len(data):
        length, check, offset = _HEAD.unpack_from(data, start)
        end = start + _HEAD.size + length
        value = data[start + _HEAD.size : end]
        if len(value) != length or zlib.crc32(value, zlib.crc32(_OFFSET.pack(offset))) != check:
            return
        yield offset, value, end
        start = end


def _sync_file(path: Path) -> None:
    with path.open("rb") as stream:
        os.fdatasync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
