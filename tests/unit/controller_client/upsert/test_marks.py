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
    """Create the table, or recreate it."""
    path = table_config_path(TABLE)
    if created_of(store) is not None:
        store.delete(path)
    store.create(path, ZNRecord(TABLE))


def created_of(store: PropertyStore) -> int | None:
    return store.creation_order(table_config_path(TABLE))


def view(zookeeper: MemoryZooKeeper, **states: str) -> None:
    put(zookeeper, f"EXTERNALVIEW/{TABLE}", mapFields={"t__0__0__x": states})


def report(
    store: PropertyStore, name: str, mark: int, session: str = "s", segment: str | None = None
) -> None:
    progress = {0: PartitionProgress(segment, 7, mark)}
    created = created_of(store)
    if created is None:
        make_table(store)
        created = created_of(store)
    assert created is not None
    write_server(store, TABLE, ServerRecord(name, session, mark, 1000 + mark, progress, created=created))


def test_the_mark_is_the_lowest_of_all_serving_servers() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE", B="CONSUMING")
    for name, mark in (("A", 1200), ("B", 900), ("C", 5)):  # C serves no segment of the table
        server(zookeeper, name)
        report(store, name, mark, segment=f"t__{name}")
    found = read_mark(store, TABLE)
    assert (found.version, found.at_ms, found.holders, found.silent) == (900, 1900, ("B",), ())
    assert found.segments == {"t__A", "t__B"}


def test_a_server_without_a_report_holds_the_mark_back() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE", B="ONLINE")
    server(zookeeper, "A")
    server(zookeeper, "B", session="new")
    report(store, "A", 10)
    report(store, "B", 12, session="old")
    found = read_mark(store, TABLE)
    assert (found.version, found.silent, found.holders, found.at_ms) == (-1, ("B",), ("B",), 0)
    with pytest.raises(NoMarkError, match="B has not reported"):
        found.required()


@pytest.mark.parametrize(
    "config", [{"shutdownInProgress": "true"}, {"queriesDisabled": "TRUE"}, {"HELIX_ENABLED": "false"}]
)
def test_servers_that_brokers_skip_do_not_count(config: dict[str, str]) -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE", B="ONLINE", C="OFFLINE", D="ONLINE")
    server(zookeeper, "A", shutdownInProgress="false")
    server(zookeeper, "B", **config)
    server(zookeeper, "C")
    report(store, "A", 10)
    report(store, "D", 1)  # not connected
    found = read_mark(store, TABLE)
    assert (found.version, set(found.servers), found.holders) == (10, {"A"}, ())


def test_a_table_without_servers_has_no_mark() -> None:
    store, _ = memory_store()
    assert read_mark(store, TABLE) == TableMark(TABLE, None, {})
    with pytest.raises(NoMarkError, match="it has no live server"):
        read_mark(store, TABLE).required()


def test_reports_about_a_deleted_table_do_not_count() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE")
    server(zookeeper, "A")
    report(store, "A", 10)
    assert read_mark(store, TABLE).version == 10
    make_table(store)
    found = read_mark(store, TABLE)
    assert (found.version, found.silent, found.created) == (-1, ("A",), created_of(store))
    report(store, "A", 2)
    assert read_mark(store, TABLE).version == 2


def test_no_version_completed_yet() -> None:
    store, zookeeper = memory_store()
    view(zookeeper, A="ONLINE")
    server(zookeeper, "A")
    report(store, "A", -1)
    with pytest.raises(NoMarkError, match="completed no version yet"):
        read_mark(store, TABLE).required()
