"""Clients that disturb the port of the metrics."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import requests

from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from controller_client.monitoring.http_server import _MAX_CONNECTIONS, _is_local
from tests.unit.fake_clock import FakeClock

_WAIT_S = 30


@pytest.fixture
def server() -> Iterator[MonitoringServer]:
    with MonitoringServer("127.0.0.1", 0, Monitoring(catalogue.SCHEDULER, FakeClock())) as running:
        yield running


def status(server: MonitoringServer, host: str | None = None) -> int:
    headers = {} if host is None else {"Host": host}
    url = f"http://127.0.0.1:{server.port}/health"
    return requests.get(url, headers=headers, timeout=_WAIT_S).status_code


def test_clients_that_send_half_a_request_take_neither_threads_nor_the_port(
    server: MonitoringServer,
) -> None:
    before = threading.active_count()
    with ExitStack() as stack:
        clients = []
        for _ in range(4 * _MAX_CONNECTIONS):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), _WAIT_S))
            client.sendall(b"GET /health HTTP/1.1\r\nHost: ")
            clients.append(client)
        assert status(server) == 200
        assert threading.active_count() - before <= _MAX_CONNECTIONS
        # The oldest made room, as a close.
        assert clients[0].recv(1) == b""


def test_a_silent_client_is_dropped(server: MonitoringServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller_client.monitoring.http_server._Handler.timeout", 0.05)
    with socket.create_connection(("127.0.0.1", server.port), _WAIT_S) as client:
        assert client.recv(1) == b""


def test_a_browser_on_this_machine_cannot_read_it_under_another_name(server: MonitoringServer) -> None:
    for host in (None, "localhost", f"localhost:{server.port}", "[::1]:80", "127.0.0.9", "a.localhost"):
        assert status(server, host) == 200
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1", "[", "127.0.0.1.x"):
        assert status(server, host) == 403


def test_on_another_address_any_name_is_served() -> None:
    monitoring = Monitoring(catalogue.SCHEDULER, FakeClock())
    with MonitoringServer("0.0.0.0", 0, monitoring) as running:  # noqa: S104 - it is what is tested
        assert status(running, "pod-7.metrics.svc:9090") == 200


def test_the_name_that_it_listens_under_is_served() -> None:
    assert _is_local("My-Host:7", "my-host")
    assert _is_local(None, "my-host")
    assert not _is_local("", "my-host")
