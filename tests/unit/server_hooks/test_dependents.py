"""The dependents of the hooks of a server or a broker, and their refusal if a hook does not work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.errors import UnsupportedError
from controller_client.helix.failed_hooks import read_failed_hooks, write_failed_hooks
from controller_client.helix.ideal_state import ideal_state_path, set_paused_partitions
from controller_client.helix.table_config import table_config_path
from controller_client.models import TableConfig
from controller_client.upsert.creating import check_hooks, servers_without_hooks
from controller_client.zookeeper import PropertyStore, ZNRecord
from server_hooks.dependents import paused_partitions, upsert_tables
from tests.unit.memory_zookeeper import CLUSTER, MemoryZooKeeper, memory_store

SERVER, OTHER, BROKER = "Server_a_1", "Server_b_1", "Broker_a_1"


def _put(zookeeper: MemoryZooKeeper, path: str, record: ZNRecord) -> None:
    zookeeper.znodes.pop(path, None)
    zookeeper.create(path, record.to_bytes())


_LATER_PLACES: list[dict[str, Any]] = [
    {"tenants": {"tagOverrideConfig": {"realtimeCompleted": "later_OFFLINE"}}},
    {"tierConfigs": [{"name": "cold", "storageType": "pinot_server", "serverTag": "later_OFFLINE"}]},
    {"instanceAssignmentConfigMap": {"COMPLETED": {"tagPoolConfig": {"tag": "later_OFFLINE"}}}},
]
"""Parts of configs with which segments move to the servers of ``later_OFFLINE`` after their commit."""


def _config(raw: str, tenant: str, *, upsert: bool = True, **more: Any) -> TableConfig:
    custom = {"updateSemantic": "upsert"} if upsert else {}
    document = {
        "tableName": f"{raw}_REALTIME",
        "tableType": "REALTIME",
        "segmentsConfig": {"replication": "1"},
        "tableIndexConfig": {},
        "metadata": {"customConfigs": custom},
        **more,
        "tenants": {"server": tenant, "broker": tenant, **more.get("tenants", {})},
    }
    return TableConfig.from_json(document)


def _add_table(
    store: PropertyStore,
    zookeeper: MemoryZooKeeper,
    config: TableConfig,
    servers: tuple[str, ...] = (),
    paused: tuple[str, ...] = (),
) -> None:
    table = TableName(config.name_with_type)
    parts = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in config.to_json().items()
    }
    store.create(table_config_path(table), ZNRecord(table, simple_fields=parts))
    segment = f"{table.raw}__0__0__20261123T0000Z"
    state = ZNRecord(
        table,
        map_fields={segment: dict.fromkeys(servers, "CONSUMING")} if servers else {},
    )
    _put(zookeeper, ideal_state_path(store, table), state)
    set_paused_partitions(store, table, lambda _paused: frozenset(map(int, paused)))


def _tag(zookeeper: MemoryZooKeeper, instance: str, *tags: str) -> None:
    record = ZNRecord(instance, list_fields={"TAG_LIST": list(tags)})
    _put(zookeeper, f"/{CLUSTER}/CONFIGS/PARTICIPANT/{instance}", record)


def _live(zookeeper: MemoryZooKeeper, instance: str, session: str) -> None:
    record = ZNRecord(instance, simple_fields={"SESSION_ID": session})
    _put(zookeeper, f"/{CLUSTER}/LIVEINSTANCES/{instance}", record)


def test_paused_partitions_of_a_servers_tables() -> None:
    store, zookeeper = memory_store()
    _add_table(store, zookeeper, _config("one", "x"), (SERVER,), ("3",))
    _add_table(store, zookeeper, _config("two", "x"), (SERVER, OTHER), ("4", "0"))
    _add_table(store, zookeeper, _config("free", "x"), (SERVER,))
    _add_table(store, zookeeper, _config("elsewhere", "x"), (OTHER,), ("1",))
    assert paused_partitions(store, SERVER) == (
        "the paused partition 3 of table one",
        "the paused partitions 0, 4 of table two",
    )
    assert paused_partitions(store, BROKER) == ()


def test_upsert_tables_that_a_server_serves_or_may_get() -> None:
    store, zookeeper = memory_store()
    _tag(zookeeper, SERVER, "mine_REALTIME", "mine_OFFLINE")
    _add_table(store, zookeeper, _config("by_tenant", "mine"))
    _add_table(store, zookeeper, _config("by_segment", "other"), (SERVER,))
    _add_table(store, zookeeper, _config("elsewhere", "other"), (OTHER,))
    _add_table(store, zookeeper, _config("plain", "mine", upsert=False), (SERVER,))
    assert upsert_tables(store, SERVER) == ("the upsert table by_segment", "the upsert table by_tenant")
    assert len(upsert_tables(store)) == 3
    _add_table(store, zookeeper, _config("by_default", "DefaultTenant"))
    assert upsert_tables(store, "Server_never_joined") == ("the upsert table by_default",)


@pytest.mark.parametrize(("instance", "tag"), [(SERVER, "mine_REALTIME"), (BROKER, "mine_BROKER")])
def test_an_upsert_table_is_refused_if_a_role_of_its_tenant_runs_without_the_hook(
    instance: str, tag: str
) -> None:
    store, zookeeper = memory_store()
    _tag(zookeeper, instance, tag)
    _live(zookeeper, instance, "s1")
    check_hooks(store, _config("t", "mine"))
    write_failed_hooks(store, instance, {"upsert": "no compiler"})
    assert read_failed_hooks(store) == {instance: {"upsert": "no compiler"}}
    with pytest.raises(UnsupportedError, match=f"{instance} runs without the hook upsert.*: no compiler"):
        check_hooks(store, _config("t", "mine"))
    check_hooks(store, _config("t", "other"))
    _live(zookeeper, instance, "s2")  # it was restarted
    assert read_failed_hooks(store) == {}
    check_hooks(store, _config("t", "mine"))


@pytest.mark.parametrize("more", _LATER_PLACES, ids=lambda more: next(iter(more)))
def test_servers_that_segments_move_to_later_need_the_hook_too(more: dict[str, Any]) -> None:
    store, zookeeper = memory_store()
    config = _config("t", "mine", **more)
    _tag(zookeeper, SERVER, "mine_REALTIME")
    _tag(zookeeper, OTHER, "later_OFFLINE")
    for server in (SERVER, OTHER):
        _live(zookeeper, server, "s1")
    assert servers_without_hooks(store, config) == [SERVER, OTHER]
    assert servers_without_hooks(store, _config("t", "mine")) == [SERVER]
    _add_table(store, zookeeper, config)
    assert upsert_tables(store, OTHER) == ("the upsert table t",)
    write_failed_hooks(store, OTHER, {"upsert": "no compiler"})
    with pytest.raises(UnsupportedError, match=f"{OTHER} runs without the hook upsert.*: no compiler"):
        check_hooks(store, config)
    check_hooks(store, _config("t", "mine"))


def test_the_failure_of_another_hook_does_not_matter() -> None:
    store, zookeeper = memory_store()
    _tag(zookeeper, SERVER, "mine_REALTIME")
    _live(zookeeper, SERVER, "s1")
    write_failed_hooks(store, SERVER, {"partition-pause": "no compiler"})
    check_hooks(store, _config("t", "mine"))
