"""A minimal ZooKeeper over real sockets: opens kazoo's sessions and authenticates; has no znodes."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kazoo.exceptions import KazooException, NoNodeError

__all__ = ["DELETE", "WireServer", "wire_server"]

DELETE = 2
"""The type of a request."""

_AUTH_FAILED = -115
_SASL, _SYNC, _MULTI, _CLOSE = 102, 9, 14, -11
_AUTH_XID = -4


class WireServer:
    """Serves each connection in its own thread.

    Args:
        tls: Its certificate; None: no TLS.

    Attributes:
        granted_ms: The session timeout that it grants, whatever a client requests.
        accepts: Whether it accepts a client's authentication.
        refuses: The error with which it answers each request about znodes.
        cuts_at: The kind of request at which it closes the connection once.
        dies_at: The kind of request at which it closes the connection and stops listening.
        received: The requests to open a session and those in it, decrypted.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.granted_ms = 4_000
        self.accepts = True
        self.refuses: type[KazooException] = NoNodeError
        self.cuts_at: int | None = None
        self.dies_at: int | None = None
        self.received: list[bytes] = []
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Close all connections."""
        for line in self._open:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._listen_no_more()
        self._thread.join(10)
        self.cut()

    def _listen_no_more(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._listener.accept()
                self._open.append(line)
                threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        with suppress(OSError, EOFError), self._tls.wrap_socket(line, True) if self._tls else line as line:
            self.received.append(_frame(line))
            _send(line, struct.pack(">iiqi", 0, self.granted_ms, 1, 16) + b"p" * 16 + b"\0")
            while True:
                request = _frame(line)
                self.received.append(request)
                xid, kind = struct.unpack(">ii", request[:8])
                is_proof = kind == _SASL or xid == _AUTH_XID
                if kind == self.dies_at:
                    self._listen_no_more()
                if kind in (_CLOSE, self.cuts_at, self.dies_at):
                    self.cuts_at = None
                    return
                if is_proof and not self.accepts:
                    _send(line, struct.pack(">iqi", xid, 1, _AUTH_FAILED))
                    return
                if is_proof:
                    _send(line, struct.pack(">iqi", xid, 1, 0))
                elif kind == _SYNC:
                    _send(line, struct.pack(">iqi", xid, 1, 0) + request[8:])
                elif kind == _MULTI:
                    # An error instead of each result, then the end of the list.
                    result = struct.pack(">i?ii", -1, False, self.refuses.code, self.refuses.code)
                    _send(
                        line, struct.pack(">iqi", xid, 1, 0) + 2 * result + struct.pack(">i?i", -1, True, -1)
                    )
                else:
                    _send(line, struct.pack(">iqi", xid, 1, self.refuses.code))


@contextmanager
def wire_server(tls: ssl.SSLContext | None = None) -> Iterator[WireServer]:
    """Start a server, and stop it at the end."""
    server = WireServer(tls)
    try:
        yield server
    finally:
        server.close()


def _frame(line: socket.socket) -> bytes:
    return _read(line, struct.unpack(">i", _read(line, 4))[0])


def _read(line: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = line.recv(count - len(found))
        if not part:
            raise EOFError
        found += part
    return found


def _send(line: socket.socket, body: bytes) -> None:
    line.sendall(struct.pack(">i", len(body)) + body)
