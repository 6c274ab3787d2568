"""The proxy of the fault tests, before a small HTTP server: what it forwards, breaks and counts."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.faulty_s3 import FaultyS3
from tests.support.s3 import S3Access

CONTENT = bytes(range(256)) * 1000


class _Upstream(BaseHTTPRequestHandler):
    """Keeps what was put, and the Host header that it came with."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes] = {}
    hosts: list[str] = []

    def do_PUT(self) -> None:
        self.objects[self.path] = self._body()
        self._reply(200, b"")

    def do_GET(self) -> None:
        self.hosts.append(self.headers["Host"])
        found = self.objects.get(self.path.split("?")[0])
        self._reply(404 if found is None else 200, found or b"none")

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "12345")
        self.end_headers()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[ThreadingHTTPServer]:
    _Upstream.objects, _Upstream.hosts = {"/b/in/a.csv": CONTENT}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def proxy(upstream: ThreadingHTTPServer) -> Iterator[FaultyS3]:
    with FaultyS3(S3Access(f"http://127.0.0.1:{upstream.server_port}")) as faulty:
        yield faulty


@pytest.fixture
def client(proxy: FaultyS3) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=30)
    yield connection
    connection.close()


def ask(client: http.client.HTTPConnection, method: str, path: str) -> tuple[int, bytes]:
    client.request(method, path)
    reply = client.getresponse()
    return reply.status, reply.read()


def test_requests_without_a_rule_are_forwarded_unchanged(
    proxy: FaultyS3, client: http.client.HTTPConnection
) -> None:
    for _ in range(3):
        assert ask(client, "GET", "/b/in/a.csv") == (200, CONTENT)
    assert _Upstream.hosts == [proxy.url.removeprefix("http://")] * 3
    assert ask(client, "GET", "/b/in/none.csv") == (404, b"none")
    assert ask(client, "HEAD", "/b/in/a.csv") == (200, b"")
    client.request("PUT", "/b/plain", body=CONTENT)
    assert client.getresponse().read() == b""
    client.request("PUT", "/b/chunked", body=iter([b"one", b"two"]), encode_chunked=True)
    assert client.getresponse().read() == b""
    assert _Upstream.objects["/b/plain"] == CONTENT
    assert _Upstream.objects["/b/chunked"] == b"onetwo"


def test_it_counts_by_operation_and_key(proxy: FaultyS3, client: http.client.HTTPConnection) -> None:
    proxy.answer(403, "GET", "b/in/a*.csv", times=1)
    ask(client, "GET", "/b/in/a%20%C3%BC.csv")
    ask(client, "GET", "/b/in/a%20%C3%BC.csv")
    ask(client, "GET", "/b?list-type=2&prefix=in")
    assert proxy.gets("b/in/a ü.csv") == 2
    assert (proxy.count("LIST", "b"), proxy.count("GET", "b")) == (1, 0)


def test_an_answer_is_s3s_own_error_until_it_is_lifted(
    proxy: FaultyS3, client: http.client.HTTPConnection
) -> None:
    rule = proxy.answer(503, "GET", "b/in/*")
    for _ in range(2):
        status, body = ask(client, "GET", "/b/in/a.csv")
        assert (status, b"<Code>SlowDown</Code>" in body) == (503, True)
    assert _Upstream.hosts == []
    rule.lift()
    assert ask(client, "GET", "/b/in/a.csv") == (200, CONTENT)
    assert rule.hits == 2


def test_a_cut_body_and_a_dropped_connection(proxy: FaultyS3, client: http.client.HTTPConnection) -> None:
    proxy.cut(100, "GET", "b/in/a.csv", times=1)
    with pytest.raises(http.client.IncompleteRead) as cut:
        ask(client, "GET", "/b/in/a.csv")
    assert cut.value.partial == CONTENT[:100]
    client.close()
    proxy.drop_request("PUT", "b/lost")
    with pytest.raises(http.client.RemoteDisconnected):
        ask(client, "PUT", "/b/lost")
    assert "/b/lost" not in _Upstream.objects


def test_a_lost_reply_is_of_a_request_that_was_applied(
    proxy: FaultyS3, client: http.client.HTTPConnection
) -> None:
    proxy.drop_reply("PUT", "b/applied")
    client.request("PUT", "/b/applied", body=b"x")
    with pytest.raises(http.client.RemoteDisconnected):
        client.getresponse()
    assert _Upstream.objects["/b/applied"] == b"x"


def test_held_requests_continue_when_the_rule_is_lifted(
    proxy: FaultyS3, client: http.client.HTTPConnection
) -> None:
    before, after = proxy.hold("PUT", "b/held"), proxy.hold_reply("GET", "b/held")
    client.request("PUT", "/b/held", body=b"x")
    before.wait_hit()
    assert "/b/held" not in _Upstream.objects
    before.lift()
    assert client.getresponse().read() == b""
    client.request("GET", "/b/held")
    after.wait_hit()
    _Upstream.objects["/b/held"] = b"later"
    after.lift()
    assert client.getresponse().read() == b"x"


def test_a_dead_endpoint_takes_no_connection_and_cuts_those_it_had(
    proxy: FaultyS3, client: http.client.HTTPConnection
) -> None:
    assert ask(client, "GET", "/b/in/a.csv") == (200, CONTENT)
    with proxy.dead():
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask(client, "GET", "/b/in/a.csv")
        client.close()
        with pytest.raises(ConnectionRefusedError):
            ask(client, "GET", "/b/in/a.csv")
    client.close()
    assert ask(client, "GET", "/b/in/a.csv") == (200, CONTENT)
