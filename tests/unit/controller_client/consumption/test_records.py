"""What this project writes down about a table: the pause's holders, and a recipe's plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_client.consumption.pause_record import (
    Holder,
    PauseRecord,
    change_record,
    drop_record,
    plugin_path,
    read_record,
)
from controller_client.consumption.plan import begin, drop, read_plan, save, under_way
from controller_client.errors import ConflictError
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.consumption.worlds import TABLE, World

PATH = f"/c/PROPERTYSTORE{plugin_path(TABLE, 'pause')}"
RECORD = PauseRecord(
    {"explicit": Holder("me", 5, "why", "more"), "b": Holder("you", 6)}, foreign=True, sequences={0: 3, 11: 0}
)


def test_a_record_is_read_as_it_was_written() -> None:
    world = World()
    assert read_record(world.store, TABLE) is None
    assert change_record(world.store, TABLE, lambda _present: RECORD) == RECORD
    assert read_record(world.store, TABLE) == RECORD
    drop_record(world.store, TABLE)
    drop_record(world.store, TABLE)
    assert read_record(world.store, TABLE) is None
    assert PATH not in world.zookeeper.znodes


def test_changes_of_several_callers_are_all_there() -> None:
    world = World()
    change_record(world.store, TABLE, lambda _present: PauseRecord({"a": Holder("a", 1)}))
    others = ["b", "c"]

    def meanwhile(path: str) -> None:
        if path == PATH and others:
            name = others.pop()
            record = read_record(world.store, TABLE)
            assert record is not None
            more = replace(record, holders={**record.holders, name: Holder(name, 1)})
            world.zookeeper.before_set = lambda _path: None
            change_record(world.store, TABLE, lambda _present: more)
            world.zookeeper.before_set = meanwhile

    world.zookeeper.before_set = meanwhile

    def joined(present: PauseRecord | None) -> PauseRecord:
        assert present is not None
        return replace(present, holders={**present.holders, "me": Holder("me", 1)})

    change_record(world.store, TABLE, joined)
    record = read_record(world.store, TABLE)
    assert record is not None
    assert record.holders.keys() == {"a", "b", "c", "me"}


def test_what_is_left_of_a_dropped_table_is_not_of_the_new_one() -> None:
    world = World()
    change_record(world.store, TABLE, lambda _present: RECORD)
    begin(world.control, "drain", {})
    world.store.delete(f"/CONFIGS/TABLE/{TABLE}")
    world.store.create(f"/CONFIGS/TABLE/{TABLE}", ZNRecord(TABLE))
    assert read_record(world.store, TABLE) is None
    assert read_plan(world.store, TABLE) is None


def test_a_plan_is_taken_up_as_it_was_begun() -> None:
    world = World()
    plan = begin(world.control, "drain", {"ends": {"0": 5}})
    plan = save(world.control, plan, step="pause", more=1)
    again = begin(world.control, "drain", {"ends": {"0": 7}})
    assert again == plan
    assert (again.step, again.by, dict(again.data)) == ("pause", "me", {"ends": {"0": 5}, "more": 1})
    with pytest.raises(ConflictError, match="the recipe drain is under way") as caught:
        under_way(world.control, "change-stream")
    assert "pinotctl consumption drain t_REALTIME" in str(caught.value)
    drop(world.control)
    drop(world.control)
    assert under_way(world.control, "change-stream") is None


def test_of_two_that_go_on_with_one_plan_the_second_is_told() -> None:
    world = World()
    plan = begin(world.control, "drain", {})
    save(world.control, plan, step="pause")
    with pytest.raises(ConflictError):
        save(world.control, plan, step="pause")
