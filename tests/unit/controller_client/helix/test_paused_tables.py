"""The list of tables with paused partitions matches their ideal states."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller_client.common.names import TableName
from controller_client.errors import NotFoundError, OutcomeUnknownError
from controller_client.helix.ideal_state import ideal_state_path, read_flags, set_paused_partitions
from controller_client.helix.paused_tables import read_paused_tables
from controller_client.zookeeper import PropertyStore, Write, ZNRecord
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store

TABLE, OTHER = TableName("t_REALTIME"), TableName("o_REALTIME")
LISTED = "/c/PINOT_PLUGINS/paused_tables/t_REALTIME"


def _tables() -> tuple[PropertyStore, MemoryZooKeeper]:
    store, zookeeper = memory_store()
    for table in (TABLE, OTHER):
        zookeeper.create(ideal_state_path(store, table), ZNRecord(table).to_bytes())
    return store, zookeeper


def test_a_table_is_listed_from_its_first_to_its_last_paused_partition() -> None:
    store, _ = _tables()
    assert read_paused_tables(store).names == set()
    set_paused_partitions(store, TABLE, lambda paused: paused | {1})
    set_paused_partitions(store, TABLE, lambda paused: paused | {2})
    set_paused_partitions(store, OTHER, lambda paused: paused | {2})
    assert read_paused_tables(store).names == {TABLE, OTHER}
    set_paused_partitions(store, TABLE, lambda paused: paused - {1})
    assert read_paused_tables(store).names == {TABLE, OTHER}
    set_paused_partitions(store, TABLE, lambda paused: paused - {2})
    assert read_paused_tables(store).names == {OTHER}


def test_a_process_killed_during_the_change_leaves_both_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    store, zookeeper = _tables()

    def die(path: str) -> None:
        if "IDEALSTATES" in path or path == LISTED:
            raise KeyboardInterrupt

    zookeeper.before_write = die
    with pytest.raises(KeyboardInterrupt):
        set_paused_partitions(store, TABLE, lambda paused: paused | {1})
    assert read_paused_tables(store).names == set()
    assert not read_flags(store, TABLE).paused_partitions


def test_concurrent_pause_and_resume() -> None:
    store, zookeeper = _tables()
    set_paused_partitions(store, TABLE, lambda paused: paused | {1})

    def pause(_path: str) -> None:
        zookeeper.before_set = lambda _path: None
        set_paused_partitions(store, TABLE, lambda paused: paused | {2})

    zookeeper.before_set = pause
    assert set_paused_partitions(store, TABLE, lambda paused: paused - {1}) == {2}
    assert read_paused_tables(store).names == {TABLE}


def test_a_wrong_list_is_corrected_by_the_next_pause_or_resume() -> None:
    store, zookeeper = _tables()
    set_paused_partitions(store, TABLE, lambda paused: paused | {1})
    del zookeeper.znodes[LISTED]
    set_paused_partitions(store, TABLE, lambda paused: paused | {1})
    assert read_paused_tables(store).names == {TABLE}
    zookeeper.create(f"{LISTED.removesuffix(TABLE)}{OTHER}", b"")
    set_paused_partitions(store, OTHER, lambda paused: paused - {1})
    assert read_paused_tables(store).names == {TABLE}


def test_a_lost_reply_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    store, zookeeper = _tables()
    commit, lost = zookeeper.commit, list[int]()

    def lose(writes: Sequence[Write]) -> None:
        commit(writes)
        lost.append(1)
        raise OutcomeUnknownError("the reply was lost")

    monkeypatch.setattr(zookeeper, "commit", lose)
    assert set_paused_partitions(store, TABLE, lambda paused: paused | {1}) == {1}
    assert len(lost) == 1
    assert read_paused_tables(store).names == {TABLE}


def test_a_missing_table_is_not_listed() -> None:
    store, _ = _tables()
    with pytest.raises(NotFoundError):
        set_paused_partitions(store, TableName("no_REALTIME"), lambda paused: paused | {1})
    assert read_paused_tables(store).names == set()
