"""How kazoo's refusals and lost replies map to this project's errors, by outcome of the write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from kazoo.exceptions import InvalidACLError, KazooException, NoAuthError, RolledBackError

from controller_client.errors import (
    AuthError,
    NotAppliedError,
    OutcomeUnknownError,
    PinotPluginError,
    RejectedError,
)
from controller_client.zookeeper import ClusterLock, CreateNode, PropertyStore, ZooKeeperConnection
from controller_client.zookeeper.line import Line
from controller_client.zookeeper_access import ZooKeeperAccess
from tests.unit.controller_client.zookeeper.wire_server import DELETE, WireServer, wire_server
from tests.unit.fake_clock import FakeClock


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


@pytest.fixture
def connection(server: WireServer) -> Iterator[ZooKeeperConnection]:
    with closing(
        ZooKeeperConnection(server.address, access=ZooKeeperAccess(), clock=FakeClock())
    ) as connection:
        yield connection


CALLS: dict[str, Callable[[ZooKeeperConnection], Any]] = {
    "get": lambda connection: connection.get("/a"),
    "children": lambda connection: connection.children("/a"),
    "create": lambda connection: connection.create("/a", b""),
    "set": lambda connection: connection.set("/a", b"", 0),
    "delete": lambda connection: connection.delete("/a"),
    "commit": lambda connection: connection.commit([CreateNode("/a", b""), CreateNode("/b", b"")]),
    "line": lambda connection: Line(connection, "/a", b"").enter(),
}
_EXPECTED: list[tuple[type[KazooException], type[PinotPluginError], str]] = [
    (NoAuthError, AuthError, "refused access"),
    (InvalidACLError, RejectedError, "InvalidACLError"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("refusal", "error", "words"), _EXPECTED)
def test_refusals_by_zookeeper_are_errors_of_this_project(
    server: WireServer,
    connection: ZooKeeperConnection,
    call: str,
    refusal: type[KazooException],
    error: type[PinotPluginError],
    words: str,
) -> None:
    server.refuses = refusal
    with pytest.raises(error, match=words) as caught:
        CALLS[call](connection)
    assert "/a" in str(caught.value.where)


def test_a_lock_refused_by_acls_is_an_auth_error(server: WireServer) -> None:
    server.refuses = NoAuthError
    store = PropertyStore(server.address, "c", access=ZooKeeperAccess())
    with closing(store), pytest.raises(AuthError, match="refused access"):
        ClusterLock(store, "job", "a job", "me").acquire(0.0)


def test_a_delete_whose_reply_is_lost_is_not_reported_as_not_applied(
    server: WireServer, connection: ZooKeeperConnection
) -> None:
    connection.exists("/a")
    server.dies_at = DELETE
    with pytest.raises(OutcomeUnknownError):
        connection.delete("/a")


def test_after_a_lost_reply_a_delete_is_done_if_the_znode_is_gone(server: WireServer) -> None:
    with closing(ZooKeeperConnection(server.address, access=ZooKeeperAccess())) as connection:
        connection.exists("/a")
        server.cuts_at = DELETE
        connection.delete("/a")


def test_refused_transactions_are_not_applied(server: WireServer, connection: ZooKeeperConnection) -> None:
    server.refuses = RolledBackError
    with pytest.raises(NotAppliedError):
        CALLS["commit"](connection)
