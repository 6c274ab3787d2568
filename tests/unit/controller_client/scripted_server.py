"""A real HTTP server on loopback that follows a test's script: responses and network faults.

It simulates a faulty network, never Pinot's behaviour: that is tested on a real Pinot.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Seen:
    """A request that arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def json(self) -> Any:
        return json.loads(self.body)


Step = Callable[["_Handler"], None]


def answer(status: int, body: object = None, headers: dict[str, str] | None = None) -> Step:
    """Respond with a status and a JSON document (strings and bytes are sent as they are)."""

    def step(handler: _Handler) -> None:
        text = "" if body is None else body if isinstance(body, str | bytes) else json.dumps(body)
        raw = text.encode() if isinstance(text, str) else text
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(raw)

    return step


NOTHING = answer(200, headers={"Pinot-Controller-Version": "1.5.1-abc"})
"""A controller's own response that there is nothing, such as no lineage."""


def reset(handler: _Handler) -> None:
    """Reset the connection (RST) after reading the request."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def hang_up(handler: _Handler) -> None:
    """Close the connection after reading the request, without a response."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def truncate(handler: _Handler) -> None:
    """Announce 1,000 bytes, send some, and close."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"segmentLineageEntryId":')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def silence(handler: _Handler) -> None:
    """Do not respond until the server is stopped."""
    handler.close_connection = True
    handler.owner.stopping.wait(30)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise each response waits 40 ms for the acknowledgement of its header.
    disable_nagle_algorithm = True
    owner: ScriptedServer

    def setup(self) -> None:
        super().setup()
        self.owner.connections.append(self.connection)

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        seen = Seen(self.command, self.path, dict(self.headers.items()), self.rfile.read(length))
        step = self.owner.next_step(seen)
        step(self)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_CONNECT = _serve  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore broken connections: these tests cause them."""


class ScriptedServer:
    """Takes one step of the script per request; after the last one, calls ``answers``.

    Args:
        script: Steps.
        host: Address to listen on, of the loopback network.
        port: Port to listen on; 0: any that is free.
        tls: Its certificate; None: http.

    Attributes:
        script: Remaining steps, in order.
        answers: Returns the step for a request once the script is at its end.
        requests: The requests received.
    """

    def __init__(
        self, *script: Step, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.script = deque(script)
        self.answers: Callable[[Seen], Step] | None = None
        self.requests: list[Seen] = []
        self.connections: list[socket.socket] = []
        self.stopping = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._host = host
        self._server = _Server((host, port), handler)
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self._host}:{self._server.server_port}"

    def next_step(self, seen: Seen) -> Step:
        self.requests.append(seen)
        if self.script:
            return self.script.popleft()
        if self.answers is not None:
            return self.answers(seen)
        return answer(599, {"error": f"the script is at its end: {seen.method} {seen.target}"})

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        # Kept-alive connections of the client end only when its pool is collected.
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()


def closed_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
