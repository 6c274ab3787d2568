"""The lease on a real ZooKeeper: the next in line, a session that ends, a cut, a claim of who has lost it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from controller_client.errors import ConflictError, LeaseLostError
from controller_client.zookeeper import Lease, PropertyStore, read_standing
from controller_client.zookeeper.transaction import CreateNode
from tests.integration.zookeeper.conftest import Folder, expire_session
from tests.integration.zookeeper.proxy import ZooKeeperProxy
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

Open = Callable[..., PropertyStore]
SESSION_S = 4.0


@pytest.fixture
def open_store(folder: Folder) -> Iterator[Open]:
    opened: list[PropertyStore] = []

    def make(address: str | None = None) -> PropertyStore:
        opened.append(
            PropertyStore(
                address or folder.zookeeper_address,
                folder.cluster_name,
                timeout_s=2,
                session_timeout_s=SESSION_S,
            )
        )
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def name(folder: Folder) -> Iterator[str]:
    name = folder.path.removeprefix("/")
    yield name
    path = f"/{folder.cluster_name}/PINOT_PLUGINS/leases/{name}"
    folder.store.connection.delete(path, recursive=True)


def _lease(store: PropertyStore, name: str, owner: str, notes: list[str]) -> Lease:
    return Lease(store, name, owner, what="test", note=notes.append)


def _owners(folder: Folder, name: str) -> list[str]:
    return [each.holder.owner for each in read_standing(folder.store) if each.name == name and each.holder]


def test_the_next_in_line_has_it_when_the_holder_leaves(folder: Folder, open_store: Open, name: str) -> None:
    notes: list[str] = []
    first, second = (
        _lease(open_store(), name, "first", []),
        _lease(open_store(), name, "second", notes),
    )
    with first, second:
        assert first.is_holder
        assert not second.is_holder
        assert _owners(folder, name) == ["first", "second"]
        assert notes[0].startswith("this test stands by: first (host ")
        number = first.number
        first.release()
        wait_for(lambda: second.is_holder, "the takeover")
        assert second.number > number
        assert notes[-1] == "this test takes over"
    assert _owners(folder, name) == []


def test_what_zookeeper_grants_a_session_is_what_counts(folder: Folder) -> None:
    asked_s = 3600.0
    with PropertyStore(folder.zookeeper_address, folder.cluster_name, session_timeout_s=asked_s) as store:
        assert 0 < store.connection.session_timeout_s < asked_s


def test_a_session_that_is_ended_loses_it_at_once_and_what_it_still_sends_is_refused(
    folder: Folder, open_store: Open, name: str
) -> None:
    store, notes = open_store(), list[str]()
    with _lease(store, name, "first", notes) as lease:
        guard = lease.guard()
        expire_session(store)
        path = folder.store.absolute(f"{folder.path}")
        with pytest.raises(ConflictError):
            folder.store.connection.commit([CreateNode(path, b""), guard])
        wait_for(lambda: any("has lost its lease" in note for note in notes), "the loss")
        wait_for(lambda: lease.is_holder, "its next term")
        assert lease.guard() != guard
        folder.store.connection.commit([CreateNode(path, b""), lease.guard()])


def test_a_holder_that_is_cut_off_loses_the_lease_before_the_next_gets_it(
    folder: Folder, open_store: Open, name: str
) -> None:
    with ZooKeeperProxy(folder.zookeeper_address) as proxy:
        first = _lease(open_store(proxy.address), name, "first", [])
        second = _lease(open_store(), name, "second", [])
        with first, second:
            assert first.is_holder
            proxy.go_away()

            def taken_over() -> bool:
                # Read first: if it is held now, the other cannot have had it before.
                is_held, is_taken = first.is_holder, second.is_holder
                assert not (is_held and is_taken)
                return is_taken

            wait_for(taken_over, "the takeover", interval_s=0.01)
            assert not first.is_holder
            with pytest.raises(LeaseLostError):
                first.guard()
            proxy.come_back()
            wait_for(lambda: _owners(folder, name) == ["second", "first"], "its place at the end of the line")
