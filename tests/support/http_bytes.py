"""HTTP messages as bytes: heads are parsed, bodies are copied with their framing."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader, BytesIO

__all__ = ["Head", "Reply", "copy_body", "read_body", "read_head", "read_reply"]

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Head:
    raw: bytes
    first: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    raw: bytes
    status: int
    headers: Mapping[str, str]

    @property
    def keeps_open(self) -> bool:
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers
        return framed and self.headers.get("connection", "").lower() != "close"


def read_head(source: BufferedReader) -> Head | None:
    first = source.readline()
    if not first:
        return None
    lines = [first]
    while (line := source.readline()) not in (b"\r\n", b""):
        lines.append(line)
    lines.append(b"\r\n")
    headers = {}
    for text in (line.decode("latin-1") for line in lines[1:-1]):
        name, _, value = text.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Head(b"".join(lines), first.decode("latin-1").strip(), headers)


def read_reply(source: BufferedReader) -> Reply | None:
    found = read_head(source)
    if found is None:
        return None
    match = re.match(r"HTTP/1\.\d (\d{3})", found.first)
    assert match is not None, found.first
    return Reply(found.raw, int(match[1]), found.headers)


def copy_body(
    headers: Mapping[str, str],
    source: BufferedReader,
    sink: socket.socket | None,
    limit: int | None = None,
    *,
    until_end: bool = False,
) -> bool:
    """Copy a body with its framing; return whether it was complete.

    Args:
        headers: The headers of the message.
        source: The stream, positioned after the head.
        sink: Where to write; None to only read.
        limit: Number of bytes after which to stop.
        until_end: Whether an unframed body ends with the connection, as in a reply.
    """
    copied = 0
    for part in _body(headers, source, until_end=until_end):
        wanted = part if limit is None else part[: limit - copied]
        copied += len(wanted)
        if sink is not None:
            sink.sendall(wanted)
        if len(wanted) < len(part):
            return False
    return True


def read_body(headers: Mapping[str, str], source: BufferedReader) -> BufferedReader:
    """Read a request's body with its framing, and return it as a stream that `copy_body` takes."""
    return BufferedReader(BytesIO(b"".join(_body(headers, source, until_end=False))))


def _body(headers: Mapping[str, str], source: BufferedReader, *, until_end: bool) -> Iterator[bytes]:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        size = -1
        while size:
            line = source.readline()
            yield line
            size = int(line.split(b";")[0], 16)
            yield from _exactly(source, size)
            if size:
                yield source.readline()
        while True:
            trailer = source.readline()
            yield trailer
            if trailer in (b"\r\n", b""):
                return
    elif "content-length" in headers:
        yield from _exactly(source, int(headers["content-length"]))
    elif until_end:
        while part := source.read1(_CHUNK):
            yield part


def _exactly(source: BufferedReader, size: int) -> Iterator[bytes]:
    left = size
    while left:
        part = source.read1(min(left, _CHUNK))
        if not part:
            raise ConnectionResetError("the body ended early")
        left -= len(part)
        yield part
