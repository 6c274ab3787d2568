"""A client that ZooKeeper does not accept, and for how long a session is kept: kazoo's own, over sockets."""

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

# The scheme, for which the server needs no library; SASL that is refused ends kazoo's client likewise.
USER = ZooKeeperAccess(auth=AuthKind.DIGEST, username="pinot", password=Secret("s3cret"))


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


def connect(server: WireServer, access: ZooKeeperAccess = USER) -> closing[ZooKeeperConnection]:
    return closing(ZooKeeperConnection(server.address, access=access, timeout_s=10.0, session_timeout_s=30.0))


def test_who_is_not_accepted_is_told_so_each_time_and_comes_in_once_it_is(server: WireServer) -> None:
    server.accepts = False
    with connect(server) as connection:
        for _ in range(3):
            with pytest.raises(AuthError, match="does not accept the user pinot"):
                connection.exists("/a")
        server.accepts = True
        assert not connection.exists("/a")


def slow_to_wait(server: WireServer) -> KazooClient:
    """Return a client whose caller is not scheduled before ZooKeeper has refused it."""
    client = KazooClient(server.address, **client_options(USER))
    start, refused = client.start_async, threading.Event()
    client.add_listener(lambda state: refused.set() if state == KazooState.LOST else None)

    def start_until_refused() -> Any:
        live = start()
        assert refused.wait(60)
        return live

    client.start_async = start_until_refused
    return client


def test_a_refusal_is_told_when_it_comes_before_anybody_waits(server: WireServer) -> None:
    """kazoo's event says that it is connected now, not that it was: it is unset again by then."""
    server.accepts = False
    with (
        closing(ZooKeeperConnection(server.address, client=slow_to_wait(server), access=USER)) as connection,
        pytest.raises(AuthError, match="does not accept the user pinot"),
    ):
        connection.exists("/a")


def test_a_refusal_when_the_connection_is_made_again_is_not_for_good(server: WireServer) -> None:
    """With SASL kazoo takes a server that dies in the middle of it for one that refuses, too."""
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


def test_one_that_takes_connections_and_does_not_answer_may_want_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            closing(ZooKeeperConnection(address, access=ZooKeeperAccess(), timeout_s=0.1)) as connection,
            pytest.raises(UnreachableError, match=r"takes connections, but does not answer.*TLS"),
        ):
            connection.exists("/a")


def _ask_until_it_fails(connection: ZooKeeperConnection) -> None:
    while True:
        connection.exists("/a")


def test_a_session_lasts_for_as_long_as_zookeeper_grants(server: WireServer) -> None:
    with connect(server, ZooKeeperAccess()) as connection:
        assert connection.session_timeout_s == 30.0, "what is asked for, until there is an answer"
        connection.exists("/a")
        assert connection.session_timeout_s == 4.0
