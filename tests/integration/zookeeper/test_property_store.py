"""The property store against a real ZooKeeper: compare-and-set, lost replies, absence."""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controller_client.errors import (
    ConflictError,
    DataError,
    NotFoundError,
    OutcomeUnknownError,
    UnreachableError,
)
from controller_client.zookeeper import (
    CreateNode,
    DeleteNode,
    PropertyStore,
    Versioned,
    Watched,
    Write,
    Znode,
    ZNRecord,
)
from controller_client.zookeeper.transaction import CheckVersion, SetContent
from tests.integration.zookeeper.conftest import Folder
from tests.integration.zookeeper.proxy import Operation, ZooKeeperProxy
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

FIRST = ZNRecord("r", {"value": "1"})
SECOND = ZNRecord("r", {"value": "2"})
# Of calls that wait for a second, on a busy machine.
ENDS_WITHIN_S = 30.0


@pytest.fixture
def faulty(folder: Folder, proxy: ZooKeeperProxy) -> Iterator[PropertyStore]:
    with PropertyStore(proxy.address, folder.cluster_name, timeout_s=60) as store:
        yield store


def test_children_of_a_folder_that_does_not_exist_yet_are_watched(folder: Folder) -> None:
    connection = folder.store.connection
    path = f"/{folder.cluster_name}/PROPERTYSTORE{folder.path}"
    events: list[str] = []

    def changed(event: Any) -> None:
        events.append(event.type)

    assert connection.read_children(path, changed).names == ()
    folder.store.create(f"{folder.path}/b", FIRST)
    wait_for(lambda: events == ["CREATED"], "the folder's creation to be seen")
    assert connection.read_children(path, changed).names == ("b",)
    folder.store.set(f"{folder.path}/b", SECOND, expected_version=0)
    folder.store.create(f"{folder.path}/a", FIRST)
    wait_for(lambda: len(events) > 1, "another child to be seen")
    assert events == ["CREATED", "CHILD"], "not the child that changed"
    assert connection.read_children(path, changed).names == ("a", "b")


def test_a_transaction_is_applied_as_a_whole_or_not_at_all(folder: Folder) -> None:
    connection = folder.store.connection
    path = f"/{folder.cluster_name}/PROPERTYSTORE{folder.path}"
    connection.create(path, b"0")
    connection.commit([SetContent(path, b"1", 0), CreateNode(f"{path}/a", b"")])
    refused: list[list[Write]] = [
        [SetContent(path, b"2", 0), DeleteNode(f"{path}/a")],
        [SetContent(path, b"2", 1), CreateNode(f"{path}/a", b"")],
        [DeleteNode(f"{path}/none"), SetContent(path, b"2", 1)],
        [CheckVersion(path, 0), DeleteNode(f"{path}/a")],
    ]
    for writes in refused:
        with pytest.raises(ConflictError, match="nothing was written"):
            connection.commit(writes)
        assert connection.get(path) == (b"1", 1)
        assert connection.children(path) == ["a"]
    connection.commit([CheckVersion(path, 1), DeleteNode(f"{path}/a")])
    assert connection.children(path) == []


def test_of_a_znode_and_its_folder_the_later_change_has_the_greater_number(folder: Folder) -> None:
    connection = folder.store.connection
    path = f"/{folder.cluster_name}/PROPERTYSTORE{folder.path}"
    connection.create(path, b"0")
    made = connection.read(path)
    assert made is not None
    connection.commit([SetContent(path, b"1", 0), CreateNode(f"{path}/a", b"")])
    changed, children = connection.read(path), connection.read_children(path)
    assert changed is not None
    assert made.zxid < changed.zxid == children.zxid <= connection.current_zxid()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_value_is_read_again_after_each_change_and_after_a_cut(
    folder: Folder, proxy: ZooKeeperProxy, faulty: PropertyStore, is_there: bool
) -> None:
    path, reads = f"{folder.path}/r", list[Znode | None]()
    absolute = f"/{folder.cluster_name}/PROPERTYSTORE{path}"

    def read(changed: Callable[[Any], None]) -> Znode | None:
        reads.append(faulty.connection.read(absolute, changed))
        return reads[-1]

    watched = Watched(faulty.connection, read, lambda: None)
    if is_there:
        folder.store.create(path, FIRST)
    for _ in range(3):
        assert (watched.get() is not None) is is_there
    assert len(reads) == 1
    if not is_there:
        folder.store.create(path, FIRST)
    folder.store.set(path, SECOND, expected_version=0)
    wait_for(lambda: _content(watched) == SECOND.to_bytes(), "the change to be seen")
    before = len(reads)
    proxy.go_away()
    proxy.come_back()
    wait_for(lambda: bool(watched.get()) and len(reads) > before, "the value to be read after the cut")
    folder.store.set(path, FIRST, expected_version=1)
    wait_for(lambda: _content(watched) == FIRST.to_bytes(), "the next change to be seen")


def _found_again(store: PropertyStore, path: str) -> Versioned:
    found = wait_for(lambda: store.get(path), "ZooKeeper to answer again")
    assert found is not None
    return found


def _content(watched: Watched[Znode | None]) -> bytes | None:
    found = watched.get()
    return found.content if found else None


def test_create_read_change_delete(folder: Folder) -> None:
    store, path = folder.store, f"{folder.path}/a/b"
    assert store.get(path) is None
    store.create(path, FIRST)
    found = store.get(path)
    assert found is not None
    assert (found.record, found.version) == (FIRST, 0)
    with pytest.raises(ConflictError, match="the znode already exists"):
        store.create(path, SECOND)
    assert store.set(path, SECOND, expected_version=0) == 1
    with pytest.raises(ConflictError, match="another client changed the znode"):
        store.set(path, FIRST, expected_version=0)
    found = store.get(path)
    assert found is not None
    assert (found.record, found.version) == (SECOND, 1)
    assert store.children(folder.path) == ["a"]
    assert store.get(f"{folder.path}/a") is None, "a folder has no record"
    with pytest.raises(ConflictError, match="has children"):
        store.delete(folder.path)
    with pytest.raises(ConflictError, match="another client changed the znode"):
        store.delete(path, expected_version=0)
    store.delete(path, expected_version=1)
    store.delete(folder.path, recursive=True)
    assert store.children(folder.path) == []
    with pytest.raises(NotFoundError):
        store.delete(path)
    with pytest.raises(NotFoundError):
        store.set(path, FIRST, expected_version=0)


def create_after_listings(monkeypatch: pytest.MonkeyPatch, folder: Folder, times: int) -> None:
    """Create a znode in the folder each time this client has listed it, as another client may."""
    store = folder.store
    root, children = store.absolute(folder.path), store.connection.children
    left = list(range(times))

    def listed(path: str) -> list[str] | None:
        found = children(path)
        if path == root and left:
            store.create(f"{folder.path}/{left.pop()}", FIRST)
        return found

    monkeypatch.setattr(store.connection, "children", listed)


def test_a_recursive_deletion_includes_what_others_create_meanwhile(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.store.create(f"{folder.path}/old", FIRST)
    create_after_listings(monkeypatch, folder, times=3)
    folder.store.delete(folder.path, recursive=True)
    assert not folder.store.connection.exists(folder.store.absolute(folder.path))


def test_a_recursive_deletion_ends_although_others_keep_creating_znodes(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.store.create(f"{folder.path}/old", FIRST)
    with monkeypatch.context() as others:
        create_after_listings(others, folder, times=1000)
        with pytest.raises(ConflictError, match="other clients created znodes below it during each of 10"):
            folder.store.delete(folder.path, recursive=True)
    assert folder.store.children(folder.path) == ["990"]


def test_a_recreated_record_is_newer_than_records_created_in_between(folder: Folder) -> None:
    store, first, second = folder.store, f"{folder.path}/a", f"{folder.path}/b"
    assert store.creation_order(first) is None
    store.create(first, FIRST)
    store.create(second, FIRST)
    store.set(first, SECOND, expected_version=0)
    a, b = store.creation_order(first), store.creation_order(second)
    assert a is not None
    assert b is not None
    assert a < b
    store.delete(first)
    store.create(first, FIRST)
    again = store.creation_order(first)
    assert again is not None
    assert again > b


@FULL
def test_two_writers_that_race_lose_no_increment(folder: Folder) -> None:
    path, increments = f"{folder.path}/counter", 60
    folder.store.create(path, ZNRecord("counter", {"n": "0"}))

    def count() -> int:
        conflicts = 0
        with PropertyStore(folder.zookeeper_address, folder.cluster_name) as store:
            for _ in range(increments):
                while True:
                    found = store.get(path)
                    assert found is not None
                    number = int(found.record.simple_fields["n"]) + 1
                    try:
                        store.set(path, ZNRecord("counter", {"n": str(number)}), found.version)
                        break
                    except ConflictError:
                        conflicts += 1
        return conflicts

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(count), pool.submit(count)
        conflicts = first.result() + second.result()
    found = folder.store.get(path)
    assert found is not None
    assert found.record.simple_fields["n"] == str(2 * increments)
    assert found.version == 2 * increments
    assert conflicts > 0, "the writers never met, so this proves nothing"


def test_many_records_come_in_the_order_of_their_paths(folder: Folder) -> None:
    paths = [f"{folder.path}/{number:04d}" for number in range(1100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: folder.store.create(path, ZNRecord(path[-4:])), paths[::2]))
    found = folder.store.get_many(paths)
    assert [each.record.id if each else None for each in found] == [
        path[-4:] if number % 2 == 0 else None for number, path in enumerate(paths)
    ]


def test_a_record_that_is_too_large_even_compressed_is_not_sent(folder: Folder) -> None:
    digits = "".join(random.Random(1).choices("0123456789abcdef", k=4_000_000))
    with pytest.raises(DataError, match="before compression"):
        folder.store.create(f"{folder.path}/big", ZNRecord("big", {"x": digits}))
    assert folder.store.get(f"{folder.path}/big") is None


def test_a_large_record_passes_compressed(folder: Folder) -> None:
    record = ZNRecord("big", {"x": "abc" * 1_000_000})
    folder.store.create(f"{folder.path}/big", record)
    found = folder.store.get(f"{folder.path}/big")
    assert found is not None
    assert found.record == record


@pytest.mark.parametrize("arrives", [True, False], ids=["reply lost", "request lost"])
@pytest.mark.parametrize(
    ("operation", "call", "answer", "left"),
    [
        (Operation.CREATE, lambda store, path: store.create(path, SECOND), None, (SECOND, 0)),
        (Operation.SET_DATA, lambda store, path: store.set(path, SECOND, expected_version=0), 1, (SECOND, 1)),
        (Operation.DELETE, lambda store, path: store.delete(path), None, None),
        (Operation.GET_DATA, lambda store, path: store.get(path).record, FIRST, (FIRST, 0)),
    ],
    ids=["create", "set", "delete", "get"],
)
def test_a_call_whose_request_or_reply_is_lost_is_done_once(
    folder: Folder,
    faulty: PropertyStore,
    proxy: ZooKeeperProxy,
    operation: Operation,
    call: Callable[[PropertyStore, str], object],
    answer: object,
    left: tuple[ZNRecord, int] | None,
    arrives: bool,
) -> None:
    path = f"{folder.path}/r"
    folder.store.create(f"{folder.path}/other" if operation is Operation.CREATE else path, FIRST)
    lose = proxy.lose_reply if arrives else proxy.lose_request
    lose(operation)
    assert call(faulty, path) == answer
    assert not proxy.fault_pending
    found = folder.store.get(path)
    assert (found and (found.record, found.version)) == left


def test_a_create_after_a_lost_reply_does_not_take_anothers_record_for_its_own(
    folder: Folder, faulty: PropertyStore, proxy: ZooKeeperProxy
) -> None:
    path = f"{folder.path}/r"
    folder.store.create(path, SECOND)
    proxy.lose_reply(Operation.CREATE)
    with pytest.raises(ConflictError, match="the znode already exists"):
        faulty.create(path, FIRST)
    assert not proxy.fault_pending


def test_a_write_that_cannot_be_settled_is_unknown(folder: Folder, proxy: ZooKeeperProxy) -> None:
    path = f"{folder.path}/r"
    folder.store.create(path, FIRST)
    with PropertyStore(proxy.address, folder.cluster_name, timeout_s=1.5) as store:
        proxy.lose_reply(Operation.SET_DATA)
        proxy.stay_away_after_fault()
        with pytest.raises(OutcomeUnknownError, match="could not be reached") as caught:
            store.set(path, SECOND, expected_version=0)
    assert caught.value.exit_code == 3
    found = folder.store.get(path)
    assert found is not None
    assert found.record == SECOND, "it had been applied, which the writer could not know"


def test_a_zookeeper_that_hangs_leaves_a_write_unknown_and_is_used_again_afterwards(
    folder: Folder, proxy: ZooKeeperProxy
) -> None:
    path = f"{folder.path}/r"
    folder.store.create(path, FIRST)
    with PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store:
        proxy.freeze()
        started = time.monotonic()
        with pytest.raises(OutcomeUnknownError):
            store.set(path, SECOND, expected_version=0)
        assert time.monotonic() - started < ENDS_WITHIN_S
        proxy.thaw()
        found = _found_again(store, path)
        # It is unknown whether it was applied, but never only in part.
        assert (found.version, found.record) in ((0, FIRST), (1, SECOND))


def test_an_unreachable_zookeeper_is_an_error_in_time(proxy: ZooKeeperProxy) -> None:
    proxy.go_away()
    started = time.monotonic()
    with pytest.raises(UnreachableError, match=r"cannot be reached .*within 1 s") as caught:
        PropertyStore(proxy.address, "c", timeout_s=1).__enter__()
    assert time.monotonic() - started < ENDS_WITHIN_S
    assert caught.value.where == proxy.address


def test_while_zookeeper_is_down_nothing_is_sent_and_afterwards_it_continues(
    folder: Folder, proxy: ZooKeeperProxy
) -> None:
    path = f"{folder.path}/r"
    folder.store.create(path, FIRST)
    with PropertyStore(proxy.address, folder.cluster_name, timeout_s=1) as store:
        assert store.get(path) is not None
        proxy.go_away()
        started = time.monotonic()
        for call in (
            lambda: store.get(path),
            lambda: store.set(path, SECOND, expected_version=0),
            lambda: store.create(f"{path}2", FIRST),
            lambda: store.delete(path),
        ):
            with pytest.raises(UnreachableError):
                call()
        assert time.monotonic() - started < ENDS_WITHIN_S
        proxy.come_back()
        found = _found_again(store, path)
        assert (found.record, found.version) == (FIRST, 0), "a write was sent late"
        assert folder.store.get(f"{path}2") is None
        assert store.set(path, SECOND, expected_version=0) == 1


def test_an_address_with_a_chroot(folder: Folder) -> None:
    connection, chroot = folder.store.connection, f"/chroot{folder.path.replace('/', '-')}/inner"
    connection.create(f"{chroot}/c1/PROPERTYSTORE", b"")
    with PropertyStore(f"{folder.zookeeper_address}{chroot}", "c1") as store:
        store.create("/a", FIRST)
    assert connection.exists(f"{chroot}/c1/PROPERTYSTORE/a")
    connection.delete(chroot.removesuffix("/inner"), recursive=True)


def test_the_error_names_the_missing_cluster_and_the_existing_ones(folder: Folder) -> None:
    with pytest.raises(NotFoundError, match="no cluster Nope") as caught:
        PropertyStore(folder.zookeeper_address, "Nope").__enter__()
    assert folder.cluster_name in str(caught.value)
