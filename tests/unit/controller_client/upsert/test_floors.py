"""The lowest offsets that a table can still have rows of, and when they take effect."""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.upsert.floors import Floors, read_floors
from tests.unit.controller_client.consumption.worlds import TABLE, World, segment

_TABLE = TableName(TABLE)


def world_of(oldest: dict[int, int], *, uploaded: bool = False) -> World:
    """Return a table whose partitions have segments from a sequence number to 5, with 100 rows each."""
    world = World()
    states = {}
    for partition, first in oldest.items():
        for sequence in range(first, 6):
            states[segment(partition, sequence)] = "ONLINE"
            world.committed(partition, sequence, 100 * sequence, 100 * sequence + 100)
    world.ideal({**states, **({"uploaded_by_hand": "ONLINE"} if uploaded else {})})
    return world


def test_a_partitions_floor_is_where_its_oldest_segment_begins() -> None:
    assert read_floors(world_of({0: 3, 2: 0}).store, _TABLE) == {0: 300, 2: 0}


def test_a_table_with_foreign_segments_or_none_has_no_floors() -> None:
    assert read_floors(world_of({0: 3}, uploaded=True).store, _TABLE) == {}
    assert read_floors(World().store, _TABLE) == {}


def test_a_floor_takes_effect_at_the_next_check_and_never_decreases() -> None:
    world = world_of({0: 1, 2: 4})
    floors = Floors(world.store, _TABLE, world.clock)
    assert floors.after(()) == ()
    world.clock.sleep(59)
    assert floors.after(()) == (), "must not be read again yet"
    world.clock.sleep(2)
    # Servers may show a segment for a moment after it has left the ideal state.
    assert floors.after(()) == (100, 0, 400)
    world.ideal({segment(0, 3): "ONLINE"})
    world.clock.sleep(61)
    assert floors.after((100, 0, 400)) == (100, 0, 400)
    world.clock.sleep(61)
    assert floors.after((100, 0, 400)) == (300, 0, 400)
    world.clock.sleep(61)
    assert floors.after((500, 0, 400)) == (500, 0, 400)
