"""What this project records about a table (the holders of a pause, the plan of a recipe), and its name."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from controller_client.common.names import TableName
from controller_client.consumption import TableControl
from controller_client.consumption.recipes.plan import begin, drop, in_progress, read_plan, save
from controller_client.consumption.state.pause_record import (
    Holder,
    PauseRecord,
    change_record,
    drop_record,
    plugin_path,
    read_record,
)
from controller_client.errors import ConfigError, ConflictError
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


def test_no_change_of_several_callers_is_lost() -> None:
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


def test_records_of_a_dropped_table_are_ignored_by_the_new_one() -> None:
    world = World()
    change_record(world.store, TABLE, lambda _present: RECORD)
    begin(world.control, "drain", {})
    world.store.delete(f"/CONFIGS/TABLE/{TABLE}")
    world.store.create(f"/CONFIGS/TABLE/{TABLE}", ZNRecord(TABLE))
    assert read_record(world.store, TABLE) is None
    assert read_plan(world.store, TABLE) is None


def test_a_plan_is_continued_with_its_own_data() -> None:
    world = World()
    plan = begin(world.control, "drain", {"ends": {"0": 5}})
    plan = save(world.control, plan, step="pause", more=1)
    again = begin(world.control, "drain", {"ends": {"0": 7}})
    assert again == plan
    assert (again.step, again.by, dict(again.data)) == ("pause", "me", {"ends": {"0": 5}, "more": 1})
    with pytest.raises(ConflictError, match="the recipe drain is in progress") as caught:
        in_progress(world.control, "change-stream")
    assert "pinotctl consumption drain t_REALTIME" in str(caught.value)
    drop(world.control)
    drop(world.control)
    assert in_progress(world.control, "change-stream") is None


def test_of_two_runs_of_one_plan_the_second_is_refused() -> None:
    world = World()
    plan = begin(world.control, "drain", {})
    save(world.control, plan, step="pause")
    with pytest.raises(ConflictError):
        save(world.control, plan, step="pause")


def test_a_plain_string_is_parsed() -> None:
    world = World()
    control = TableControl(world.client, world.store, cast("TableName", str(TABLE)))
    assert type(control.table) is TableName
    assert control.table == TABLE


@pytest.mark.parametrize(
    ("name", "words"), [("t_OFFLINE", "does not consume a stream"), ("t", "not a table name with type")]
)
def test_anything_but_a_realtime_table_is_refused(name: str, words: str) -> None:
    world = World()
    with pytest.raises(ConfigError, match=words):
        TableControl(world.client, world.store, cast("TableName", name))
