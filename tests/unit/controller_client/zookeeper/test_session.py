"""A client that ZooKeeper does not accept, and the session timeout: with real kazoo over sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState

from controller_client.config import Secret
from controller_client.errors import AuthError, UnreachableError
from controller_client.zookeeper import ZooKeeperConnection
from controller_client.zookeeper.client_options import client_options
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from tests.unit.controller_client.zookeeper.wire_server import WireServer, wire_server

# The scheme digest needs no library in the server; refused SASL ends kazoo's client in the same way.
USER = ZooKeeperAccess(auth=AuthKind.DIGEST, username="pinot", password=Secret("s3cret"))


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


def connect(server: WireServer, access: ZooKeeperAccess = USER) -> closing[ZooKeeperConnection]:
    return closing(ZooKeeperConnection(server.address, access=access, timeout_s=10.0, session_timeout_s=30.0))


def test_a_rejected_client_gets_an_error_each_time_until_it_is_accepted(server: WireServer) -> None:
    server.accepts = False
    with connect(server) as connection:
        for _ in range(3):
            with pytest.raises(AuthError, match="does not accept the user pinot"):
                connection.exists("/a")
        server.accepts = True
        assert not connection.exists("/a")


def slow_to_wait(server: WireServer) -> KazooClient:
    """Return a client whose caller is not scheduled until ZooKeeper has refused it."""
    client = KazooClient(server.address, **client_options(USER))
    start, refused = client.start_async, threading.Event()
    client.add_listener(lambda state: refused.set() if state == KazooState.LOST else None)

    def start_until_refused() -> Any:
        live = start()
        assert refused.wait(60)
        return live

    client.start_async = start_until_refused
    return client


def test_a_refusal_that_comes_before_anybody_waits_is_reported(server: WireServer) -> None:
    """kazoo's event says that the client is connected now, not that it was: it is already cleared."""
    server.accepts = False
    with (
        closing(ZooKeeperConnection(server.address, client=slow_to_wait(server), access=USER)) as connection,
        pytest.raises(AuthError, match="does not accept the user pinot"),
    ):
        connection.exists("/a")


def test_a_refusal_on_reconnecting_is_not_permanent(server: WireServer) -> None:
    """With SASL, kazoo also treats a server that dies during the exchange as refusing."""
    with connect(server) as connection:
        assert not connection.exists("/a")
        incarnation = connection.incarnation
        server.accepts = False
        server.cut()
        with pytest.raises(AuthError):
            _ask_until_it_fails(connection)
        server.accepts = True
        assert not connection.exists("/a")
        assert connection.incarnation > incarnation, "its watches are gone, which is to be seen"


def test_a_server_that_accepts_connections_without_answering_may_expect_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            closing(ZooKeeperConnection(address, access=ZooKeeperAccess(), timeout_s=0.1)) as connection,
            pytest.raises(UnreachableError, match=r"accepts connections but does not answer.*TLS"),
        ):
            connection.exists("/a")


def _ask_until_it_fails(connection: ZooKeeperConnection) -> None:
    while True:
        connection.exists("/a")


def test_the_session_timeout_is_the_one_granted(server: WireServer) -> None:
    with connect(server, ZooKeeperAccess()) as connection:
        assert connection.session_timeout_s == 30.0, "what is asked for, until there is an answer"
        connection.exists("/a")
        assert connection.session_timeout_s == 4.0
