from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from jvm_bridge.local_cluster import HOST, ClusterPorts, KafkaPorts
from jvm_bridge.local_cluster.health import is_healthy
from jvm_bridge.local_cluster.roles import Role, plan_roles


def role(name: str, port: int) -> Role:
    ports = replace(ClusterPorts.from_base(100), kafka=KafkaPorts.from_base(100))
    return replace(next(each for each in plan_roles(Path("/c"), ports) if each.name == name), port=port)


@contextmanager
def listener(answer: bytes) -> Iterator[int]:
    """Answer one connection with these bytes, whatever the request, and close it."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize("name", ["zookeeper", "kafka", "controller"])
@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", bytes(10)])
def test_an_invalid_response_is_not_healthy(name: str, answer: bytes) -> None:
    with listener(answer) as port:
        assert not is_healthy(role(name, port))


def test_no_listener_is_not_healthy() -> None:
    with socket.socket() as silent:  # bound, so that nobody else listens there
        silent.bind((HOST, 0))
        assert not is_healthy(role("kafka", silent.getsockname()[1]))
