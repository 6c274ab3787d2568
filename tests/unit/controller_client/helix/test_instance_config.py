from __future__ import annotations

import pytest

from controller_client.errors import NotFoundError
from controller_client.helix.instance_config import live_controllers, take_no_more_subtasks
from controller_client.zookeeper.record import ZNRecord
from tests.unit.memory_zookeeper import MemoryPropertyStore

MINION = "Minion_host_9514"
CONFIG = f"/c/CONFIGS/PARTICIPANT/{MINION}"


def put(store: MemoryPropertyStore, path: str, record: ZNRecord) -> None:
    store.zookeeper.znodes[path] = (record.to_bytes(), 3)


def controller(store: MemoryPropertyStore, name: str, *, is_live: bool = True, **fields: str) -> None:
    put(store, f"/c/CONFIGS/PARTICIPANT/{name}", ZNRecord(name, simple_fields=fields))
    if is_live:
        put(store, f"/c/LIVEINSTANCES/{name}", ZNRecord(name))


def test_a_minion_gets_no_more_subtasks_and_keeps_its_other_settings() -> None:
    store = MemoryPropertyStore()
    before = ZNRecord(
        MINION,
        simple_fields={"MAX_CONCURRENT_TASK": "4", "HELIX_ENABLED": "true"},
        list_fields={"TAG_LIST": ["pinot_plugins_minion"]},
    )
    put(store, CONFIG, before)
    take_no_more_subtasks(store, MINION)
    after = ZNRecord.from_bytes(store.zookeeper.znodes[CONFIG][0])
    assert after.simple_fields == {"MAX_CONCURRENT_TASK": "0", "HELIX_ENABLED": "true"}
    assert after.list_fields == before.list_fields


def test_a_tag_added_in_the_meantime_stays() -> None:
    store = MemoryPropertyStore()
    put(store, CONFIG, ZNRecord(MINION, list_fields={"TAG_LIST": ["a"]}))

    def tagged(path: str) -> None:
        store.zookeeper.before_set = lambda _path: None
        put(store, path, ZNRecord(MINION, list_fields={"TAG_LIST": ["a", "b"]}))
        store.zookeeper.znodes[path] = (store.zookeeper.znodes[path][0], 4)

    store.zookeeper.before_set = tagged
    take_no_more_subtasks(store, MINION)
    after = ZNRecord.from_bytes(store.zookeeper.znodes[CONFIG][0])
    assert after.list_fields == {"TAG_LIST": ["a", "b"]}
    assert after.simple_fields == {"MAX_CONCURRENT_TASK": "0"}


def test_a_dropped_minion_is_not_recreated() -> None:
    store = MemoryPropertyStore()
    with pytest.raises(NotFoundError, match=MINION):
        take_no_more_subtasks(store, MINION)
    assert not store.writes


def test_live_controllers_are_listed() -> None:
    store = MemoryPropertyStore()
    controller(store, "Controller_b_9000", HELIX_HOST="b", HELIX_PORT="9000")
    controller(store, "Controller_a_9001", HELIX_HOST="Controller_a", HELIX_PORT="9001")
    controller(store, "Controller_gone_9000", is_live=False, HELIX_HOST="gone", HELIX_PORT="9000")
    controller(store, "Controller_half_9000", HELIX_HOST="half")
    controller(store, "Broker_x_8099", HELIX_HOST="x", HELIX_PORT="8099")
    assert live_controllers(store) == [("a", 9001), ("b", 9000)]
    assert live_controllers(store, with_tls=True) == []
    controller(store, "Controller_c_9000", HELIX_HOST="c", HELIX_PORT="9000", PINOT_TLS_PORT="9443")
    assert live_controllers(store, with_tls=True) == [("c", 9443)]
