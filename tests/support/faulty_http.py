"""An HTTP proxy in front of a real server: forwards byte for byte, unless a rule injects a fault.

Forwarded data is not changed, including the Host header, so signatures of requests stay valid.

``python -m tests.support.faulty_http URL PORT`` is one without faults.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import socketserver
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from fnmatch import fnmatchcase
from http import HTTPStatus
from io import BufferedReader
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.http_bytes import Reply, copy_body, read_body, read_head, read_reply

_HIT_TIMEOUT_S = 300.0


class Fault(Enum):
    """What happens to a request that matches a rule."""

    ANSWER = auto()
    """The proxy itself answers; the server receives nothing."""
    HOLD = auto()
    """It is forwarded once the rule is lifted."""
    HOLD_REPLY = auto()
    """It is forwarded; its reply is held back until the rule is lifted."""
    CUT = auto()
    """The connection breaks within the reply's body."""
    DROP_REQUEST = auto()
    """The connection breaks before anything is forwarded."""
    DROP_REPLY = auto()
    """It is forwarded, and the connection breaks before its reply: a lost reply."""


@dataclass(frozen=True)
class Request:
    """A request's head.

    Attributes:
        operation: The method, or the operation of the protocol on top of HTTP.
        key: The path, percent-decoded, without slashes at its ends.
    """

    operation: str
    key: str
    head: bytes
    headers: Mapping[str, str] = field(repr=False)


@dataclass(eq=False)
class Rule:
    """A fault for matching requests; applies until it is lifted or has hit its maximum number of times.

    Attributes:
        operation: A pattern with ``*``, matched against the whole operation.
        key: A pattern of the same kind for the key.
        times: Maximum number of hits; None for no limit.
        every: E.g. 5 for every fifth matching request.
        since: Only after this rule was hit.
        hits: Number of hits so far.
    """

    fault: Fault
    operation: str
    key: str
    times: int | None = None
    every: int = 1
    status: int = 0
    body_bytes: int = 0
    since: Rule | None = None
    hits: int = 0
    _matched: int = 0
    _hit: threading.Event = field(default_factory=threading.Event)
    _lifted: threading.Event = field(default_factory=threading.Event)

    def takes(self, request: Request) -> bool:
        if self._lifted.is_set() or (self.times is not None and self.hits >= self.times):
            return False
        if self.since is not None and not self.since.was_hit:
            return False
        if not (fnmatchcase(request.operation, self.operation) and fnmatchcase(request.key, self.key)):
            return False
        self._matched += 1
        return self._matched % self.every == 0

    def happened(self) -> None:
        self._hit.set()

    @property
    def was_hit(self) -> bool:
        """Whether a matching request has arrived or, for `FaultyHttp.hold_reply`, was answered."""
        return self._hit.is_set()

    def wait_hit(self) -> None:
        """Wait until it is hit."""
        assert self._hit.wait(_HIT_TIMEOUT_S), f"no {self.operation} of {self.key} has come"

    def wait_lifted(self) -> None:
        self._lifted.wait()

    def lift(self) -> None:
        """Lift it; requests that it holds continue."""
        self._lifted.set()


class FaultyHttp:
    """The proxy; a context manager.

    Args:
        target: URL of the server.
        host: Address of this machine to listen on.
        port: Port there; 0: any free port, which another process may get while the proxy does not listen.
    """

    def __init__(self, target: str, host: str = "127.0.0.1", port: int = 0) -> None:
        parts = urlsplit(target)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._mutex = threading.Lock()
        self._rules: list[Rule] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._open: set[socket.socket] = set()
        self._host = host
        self._server = _Server(self, host, port)
        self.port = int(self._server.server_address[1])
        self.url = f"http://{host}:{self.port}"

    def __enter__(self) -> Self:
        self._serve()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lift_all()
        self._close()

    @contextlib.contextmanager
    def dead(self) -> Iterator[None]:
        """Within the block nothing listens at the address, and open connections are cut."""
        self._close()
        try:
            yield
        finally:
            self._server = _Server(self, self._host, self.port)
            self._serve()

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def _close(self) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()
        with self._mutex:
            left = list(self._open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def answer(
        self,
        status: int,
        operation: str,
        key: str,
        *,
        times: int | None = None,
        every: int = 1,
        since: Rule | None = None,
    ) -> Rule:
        """Answer matching requests with a status; with ``since``, only after that rule was hit."""
        return self._add(Rule(Fault.ANSWER, operation, key, times, every, status, since=since))

    def hold(self, operation: str, key: str, *, times: int | None = 1) -> Rule:
        """Hold matching requests back until the rule is lifted."""
        return self._add(Rule(Fault.HOLD, operation, key, times))

    def hold_reply(self, operation: str, key: str, *, times: int | None = 1) -> Rule:
        """Hold the replies to matching requests back until the rule is lifted."""
        return self._add(Rule(Fault.HOLD_REPLY, operation, key, times))

    def cut(self, body_bytes: int, operation: str, key: str, *, times: int | None = None) -> Rule:
        """Break the connection after this number of bytes of the reply's body."""
        return self._add(Rule(Fault.CUT, operation, key, times, body_bytes=body_bytes))

    def drop_request(self, operation: str, key: str, *, times: int | None = 1) -> Rule:
        """Break the connection before matching requests reach the server."""
        return self._add(Rule(Fault.DROP_REQUEST, operation, key, times))

    def drop_reply(self, operation: str, key: str, *, times: int | None = 1) -> Rule:
        """Break the connection after the server has answered matching requests."""
        return self._add(Rule(Fault.DROP_REPLY, operation, key, times))

    def lift_all(self) -> None:
        """Lift all rules."""
        with self._mutex:
            rules, self._rules = self._rules, []
        for rule in rules:
            rule.lift()

    def count(self, operation: str, key: str) -> int:
        """Return the number of such requests, including those with a fault; ``key`` is not a pattern."""
        with self._mutex:
            return self._counts[operation, key]

    def operation_of(self, method: str, _query: Mapping[str, list[str]]) -> str:
        """Return the operation of a request."""
        return method

    def error_body(self, status: int, _request: Request) -> bytes:
        """Return the body of an answer that the proxy itself sends."""
        return f"the proxy says {status}\n".encode()

    @contextlib.contextmanager
    def tracked(self, connection: socket.socket) -> Iterator[None]:
        with self._mutex:
            self._open.add(connection)
        try:
            yield
        finally:
            with self._mutex:
                self._open.discard(connection)

    def arrived(self, request: Request) -> Rule | None:
        """Count a request, and return the rule for it."""
        with self._mutex:
            self._counts[request.operation, request.key] += 1
            for rule in self._rules:
                if rule.takes(request):
                    rule.hits += 1
                    if rule.fault not in (Fault.HOLD, Fault.HOLD_REPLY):
                        rule.happened()
                    return rule
        return None

    def connect(self) -> socket.socket:
        return socket.create_connection(self._target)

    def read_request(self, source: BufferedReader) -> Request | None:
        """Read a request's head; None at the end of the connection."""
        found = read_head(source)
        if found is None:
            return None
        method, target, _ = found.first.split(" ", 2)
        parts = urlsplit(target)
        operation = self.operation_of(method, parse_qs(parts.query, keep_blank_values=True))
        return Request(operation, unquote(parts.path).strip("/"), found.raw, found.headers)

    def _add(self, rule: Rule) -> Rule:
        with self._mutex:
            self._rules.append(rule)
        return rule


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True  # the same port again, after a time without

    def __init__(self, proxy: FaultyHttp, host: str, port: int) -> None:
        self.proxy = proxy
        super().__init__((host, port), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    """One connection of a client, in its own thread."""

    server: _Server
    rfile: BufferedReader
    disable_nagle_algorithm = True

    def handle(self) -> None:
        proxy = self.server.proxy
        with proxy.tracked(self.connection), contextlib.suppress(OSError):
            while (request := proxy.read_request(self.rfile)) is not None:
                rule = proxy.arrived(request)
                if not self._serve(proxy, request, rule):
                    break

    def _serve(self, proxy: FaultyHttp, request: Request, rule: Rule | None) -> bool:
        """Handle one request; return whether the connection continues."""
        fault = rule.fault if rule is not None else None
        if rule is not None and fault is Fault.DROP_REQUEST:
            return False
        if rule is not None and fault is Fault.ANSWER:
            return self._answer(proxy, request, rule.status)
        source = self.rfile
        if rule is not None and fault is Fault.HOLD:
            if "expect" not in request.headers:
                # Its client may be killed once it is held, and sends the body after the head.
                source = read_body(request.headers, self.rfile)
            rule.happened()
            rule.wait_lifted()
        with proxy.connect() as upstream, proxy.tracked(upstream), upstream.makefile("rb") as replies:
            upstream.sendall(request.head)
            reply = self._send_body(request, source, upstream, replies)
            if reply is None:
                return False
            if rule is not None and fault is Fault.DROP_REPLY:
                return False
            if rule is not None and fault is Fault.HOLD_REPLY:
                rule.happened()
                rule.wait_lifted()
            self.connection.sendall(reply.raw)
            if request.operation == "HEAD" or reply.status in (204, 304):
                return reply.keeps_open
            limit = rule.body_bytes if rule is not None and fault is Fault.CUT else None
            whole = copy_body(reply.headers, replies, self.connection, limit, until_end=True)
            return whole and reply.keeps_open

    def _answer(self, proxy: FaultyHttp, request: Request, status: int) -> bool:
        if "expect" not in request.headers:
            copy_body(request.headers, self.rfile, None)
        body = b"" if request.operation == "HEAD" else proxy.error_body(status, request)
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/xml\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.connection.sendall(head.encode() + body)
        return False

    def _send_body(
        self, request: Request, source: BufferedReader, upstream: socket.socket, replies: BufferedReader
    ) -> Reply | None:
        """Forward the request's body, and return the head of the final reply."""
        if "expect" in request.headers:
            # The client waits for the server's reply, but not forever.
            select.select([self.connection, upstream], [], [])
            if select.select([upstream], [], [], 0)[0]:
                first = read_reply(replies)
                if first is None or first.status >= 200:
                    return first
                self.connection.sendall(first.raw)
        copy_body(request.headers, source, upstream)
        while True:
            reply = read_reply(replies)
            if reply is None or reply.status >= 200:
                return reply


if __name__ == "__main__":
    _url, _port = sys.argv[1:]
    with FaultyHttp(_url, port=int(_port)):
        signal.pause()
