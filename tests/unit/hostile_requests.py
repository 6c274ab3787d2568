"""Requests to the port of the metrics, from anybody on the network."""

from __future__ import annotations

import socket

from controller_client.clock import SystemClock
from controller_client.monitoring import Monitoring, MonitoringServer, catalogue

_WAIT_S = 30


def parse(data: bytes) -> None:
    """Send bytes to a new server, which must answer or close the connection, and then still answers."""
    with MonitoringServer("127.0.0.1", 0, Monitoring(catalogue.SCHEDULER, SystemClock())) as server:
        _asked(server.port, data)
        reply = _asked(server.port, b"GET /health HTTP/1.0\r\n\r\n")
        assert reply.startswith(b"HTTP/1.0 200"), reply


def _asked(port: int, data: bytes) -> bytes:
    parts = []
    with socket.create_connection(("127.0.0.1", port), _WAIT_S) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(1 << 16):
                parts.append(part)
        except OSError:
            pass  # it was refused before all of it was sent
    return b"".join(parts)
