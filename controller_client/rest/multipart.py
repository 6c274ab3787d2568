"""A file as a multipart body that is read while it is sent: a segment may be larger than memory."""

from __future__ import annotations

import os
import uuid
from typing import IO

__all__ = ["FilePart"]


class FilePart:
    """A body with one file, for the ``data`` argument of requests, which sends its length.

    Args:
        field: Name of the form's field.
        file_name: Name shown to the receiver.
        file: File, open at the position to send from; it is not closed.
    """

    def __init__(self, field: str, file_name: str, file: IO[bytes]) -> None:
        boundary = uuid.uuid4().hex
        quoted = file_name.replace("\\", "\\\\").replace('"', '\\"')
        self.content_type = f"multipart/form-data; boundary={boundary}"
        head = (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="{field}"; filename="{quoted}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        start = file.tell()
        self._file_bytes = file.seek(0, os.SEEK_END) - start
        file.seek(start)
        self._head = head.encode()
        self._file = file
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._length = len(self._head) + self._file_bytes + len(self._tail)

    def __len__(self) -> int:
        return self._length

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most ``size`` unless it is negative; empty at the end."""
        chunk, self._head = _take(self._head, size)
        if chunk:
            return chunk
        chunk = self._file.read(size)
        if chunk:
            return chunk
        chunk, self._tail = _take(self._tail, size)
        return chunk


def _take(data: bytes, size: int) -> tuple[bytes, bytes]:
    return (data, b"") if size < 0 else (data[:size], data[size:])
