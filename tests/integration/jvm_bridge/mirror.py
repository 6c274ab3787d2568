"""A Maven repository on loopback that counts requests, and can be slow, busy or stopped."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Mirror:
    """Serves generated jars; a context manager."""

    def __init__(self, count: int, size_bytes: int) -> None:
        contents = {f"j{n}": bytes([n % 256]) * size_bytes for n in range(count)}
        self.files = {f"/maven/g/{name}/1/{name}-1.jar": content for name, content in contents.items()}
        self.pins = "\n".join(f"g:{name}:1 {hashlib.sha256(c).hexdigest()}" for name, c in contents.items())
        self.requests: Counter[str] = Counter()
        self.busy_answers = 0
        self.hold_after: int | None = None
        """After that many jars the further ones stop half-way until `release` is set."""
        self.release = threading.Event()
        self.held = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/maven"

    def __enter__(self) -> Mirror:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def jar_requests(self) -> Counter[str]:
        return Counter({path: n for path, n in self.requests.items() if path.endswith(".jar")})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the base class' name
                with mirror._lock:
                    mirror.requests[self.path] += 1
                    count = sum(mirror.jar_requests.values())
                    busy = mirror.busy_answers > 0
                    mirror.busy_answers -= busy
                content = mirror.files.get(self.path)
                if busy:
                    self.send_response(429)
                    self.send_header("Retry-After", "86400")  # a day, which no client should believe
                    self.end_headers()
                    return
                if content is None:
                    self.send_error(404)
                    return
                try:
                    self._send(content, hold=mirror.hold_after is not None and count > mirror.hold_after)
                except ConnectionError:
                    return  # the client was killed: that is the test

            def _send(self, content: bytes, *, hold: bool) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                half = len(content) // 2
                self.wfile.write(content[:half])
                if hold:
                    self.wfile.flush()
                    mirror.held.set()
                    mirror.release.wait(timeout=300)
                self.wfile.write(content[half:])

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        return Handler
