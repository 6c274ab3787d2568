from __future__ import annotations

import json

import pytest

from controller_client.common.names import TableName
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.low_water_mark import NoMarkError, TableMark, read_mark
from controller_client.upsert.record import PartitionProgress, ServerRecord, write_server
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store

TABLE = TableName("t_REALTIME")


def put(zookeeper: MemoryZooKeeper, path: str, **fields: object) -> None:
    zookeeper.znodes[f"/c/{path}"] = (json.dumps({"id": path, **fields}).encode(), 0)


def server(zookeeper: MemoryZooKeeper, name: str, session: str = "s", **config: str) -> None:
    put(zookeeper, f"LIVEINSTANCES/{name}", simpleFields={"SESSION_ID": session})
    put(zookeeper, f"CONFIGS/PARTICIPANT/{name}", simpleFields=config)


def make_table(store: PropertyStore) -> None:
    """Make it, or make it again."""
    path = table_config_path(TABLE)
    if created_of(store) is not None:
        store.delete(path)
    store.create(path, ZNRecord(TABLE))


def created_of(store: PropertyStore) -> int | None:
    return store.creation_order(table_config_path(TABLE))


def view(zookeeper: MemoryZooKeeper, **states: str) -> None:
    put(zookeeper, f"EXTERNALVIEW/{TABLE}", mapFields={"t__0__0__x": states})


def tell(store: PropertyStore, name: str, mark: int, session: str = "s", segment: str | None = None) -> None:
    progress = {0: PartitionProgress(segment, 7, mark)}
    created = created_of(store)
    if created is None:
        make_table(store)
        created = created_of(store)
    assert created is not None
    write_server(store, TABLE, ServerRecord(name, session, mark, 1000 + mark, progress, created=created))


def test_the_least_of_all_that_serve() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE", B="CONSUMING")
    for name, mark in (("A", 1200), ("B", 900), ("C", 5)):  # C serves nothing of the table
        server(zookeeper, name)
        tell(store, name, mark, segment=f"t__{name}")
    found = read_mark(store, TABLE)
    assert (found.version, found.at_ms, found.holders, found.silent) == (900, 1900, ("B",), ())
    assert found.segments == {"t__A", "t__B"}


def test_a_server_that_has_told_nothing_holds_the_mark() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE", B="ONLINE")
    server(zookeeper, "A")
    server(zookeeper, "B", session="new")
    tell(store, "A", 10)
    tell(store, "B", 12, session="old")
    found = read_mark(store, TABLE)
    assert (found.version, found.silent, found.holders, found.at_ms) == (-1, ("B",), ("B",), 0)
    with pytest.raises(NoMarkError, match="B has not reported"):
        found.required()


@pytest.mark.parametrize(
    "config", [{"shutdownInProgress": "true"}, {"queriesDisabled": "TRUE"}, {"HELIX_ENABLED": "false"}]
)
def test_servers_that_brokers_pass_over_do_not_count(config: dict[str, str]) -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE", B="ONLINE", C="OFFLINE", D="ONLINE")
    server(zookeeper, "A", shutdownInProgress="false")
    server(zookeeper, "B", **config)
    server(zookeeper, "C")
    tell(store, "A", 10)
    tell(store, "D", 1)  # not connected
    found = read_mark(store, TABLE)
    assert (found.version, set(found.servers), found.holders) == (10, {"A"}, ())


def test_a_table_without_servers_has_none() -> None:
    store, _ = memory_store()
    assert read_mark(store, TABLE) == TableMark(TABLE, None, {})
    with pytest.raises(NoMarkError, match="it has no live server"):
        read_mark(store, TABLE).required()


def test_what_was_told_of_a_table_that_was_deleted_does_not_count() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE")
    server(zookeeper, "A")
    tell(store, "A", 10)
    assert read_mark(store, TABLE).version == 10
    make_table(store)
    found = read_mark(store, TABLE)
    assert (found.version, found.silent, found.created) == (-1, ("A",), created_of(store))
    tell(store, "A", 2)
    assert read_mark(store, TABLE).version == 2


def test_no_version_completed_yet() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE")
    server(zookeeper, "A")
    tell(store, "A", -1)
    with pytest.raises(NoMarkError, match="completed no version yet"):
        read_mark(store, TABLE).required()
