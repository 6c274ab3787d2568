"""A small HTTP server for probes, which anybody on the network may disturb.

Threads and the time of a connection are bounded, so that clients that send nothing take neither threads nor
file descriptors from the process, which may be a server that answers queries.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

__all__ = ["ProbeServer"]

_MAX_CONNECTIONS = 16
_IDLE_S = 5.0

_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Handler(WSGIRequestHandler):
    timeout = _IDLE_S

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base's name
        """Log nothing."""


class ProbeServer(ThreadingMixIn, WSGIServer):
    """Answers requests in at most 16 threads; one more connection ends the oldest.

    If it listens on a loopback address, it refuses requests under another host name: a page in a browser on
    this machine must not read the answers by a name that it resolves to this address.

    Args:
        host: Address to listen on.
        port: Port; 0: any free port.
        app: Answers requests (WSGI).

    Raises:
        OSError: The server cannot listen there.
    """

    daemon_threads = True
    # The threads of connections are joined by nothing: each ends within its time.
    block_on_close = False
    request_queue_size = 64

    def __init__(self, host: str, port: int, app: _App) -> None:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        self.address_family = family
        self._free = threading.Semaphore(_MAX_CONNECTIONS)
        self._lock = threading.Lock()
        self._open: dict[socket.socket, None] = {}
        """Connections, oldest first."""
        super().__init__((str(address[0]), int(address[1])), _Handler)
        is_local = ipaddress.ip_address(str(self.server_address[0])).is_loopback
        self.set_app(_of_this_host(app, host) if is_local else app)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread; called in the thread of the server."""
        if not self._free.acquire(blocking=False):
            self._end_oldest()
            self._free.acquire()
        with self._lock:
            self._open[request] = None
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self._ended(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection; called in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._ended(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that break or time out."""

    def _end_oldest(self) -> None:
        with self._lock:
            oldest = next(iter(self._open), None)
            if oldest is not None:
                del self._open[oldest]
                with suppress(OSError):  # it may have ended by itself
                    oldest.shutdown(socket.SHUT_RDWR)

    def _ended(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.pop(connection, None)
        self._free.release()


def _of_this_host(app: _App, host: str) -> _App:
    """Return an application that only answers requests which name this machine."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if _is_local(environ.get("HTTP_HOST"), host):
            return app(environ, start_response)
        body = b'{"error": "this port only answers requests to localhost and loopback addresses"}\n'
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("403 Forbidden", headers)
        return [body]

    return answer


def _is_local(named: str | None, host: str) -> bool:
    """Whether a header ``Host`` names this machine; browsers always send one."""
    if named is None:
        return True
    try:
        name = urlsplit(f"//{named}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", host.lower()) or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
