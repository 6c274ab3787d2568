"""The last segments of each partition, forgotten ones and jumps; what tables with many segments cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from controller_client.common.names import SegmentName
from controller_client.consumption import TableState
from controller_client.consumption.pauses.offset_jumps import OffsetJump, find_jumps
from controller_client.consumption.pauses.orphans import find_orphans
from controller_client.consumption.state.status import Observation, assess
from controller_client.helix.ideal_state import ConsumptionFlags, IdealState
from controller_client.helix.stream_segments import newest_by_partition, read_committing, read_partitions
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, World, ideal_of, segment


def test_sequence_numbers_are_compared_as_numbers() -> None:
    names = [segment(0, 9), segment(0, 10), segment(1, 2), "uploaded"]
    assert {key: each.sequence for key, each in newest_by_partition(names).items()} == {0: 10, 1: 2}


def test_the_last_segments_of_each_partition_are_read() -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    world.committed(0, 1, 10, 25)
    world.open(0, 2, 25)
    world.open(1, 0, 0)
    world.record("uploaded_segment")
    found = read_partitions(world.store, TABLE)
    assert found.keys() == {0, 1}
    assert (found[0].newest.segment.sequence, found[0].next_offset) == (2, "25")
    assert (found[1].newest.committed, found[1].last_committed, found[1].next_offset) == (False, None, None)


def test_a_segment_that_is_being_built_has_ended_but_is_not_committed() -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    world.committing(0, 1, 10, 25)
    world.committing(0, 2, 25, 40)
    world.open(0, 3, 40)
    world.committing(1, 0, 0, 7)
    found = read_partitions(world.store, TABLE)
    assert (found[0].committed_offset, found[0].next_offset, found[0].newest.ended) == ("10", "40", False)
    assert (found[1].committed_offset, found[1].next_offset, found[1].newest.committed) == (None, "7", False)
    names = [each.segment.name for each in read_committing(world.store, TABLE, found)]
    assert names == [segment(0, 1), segment(0, 2), segment(1, 0)]


def test_a_stuck_segment_before_built_ones_is_found_in_pinots_list() -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    world.committed(0, 1, 10, 25)
    found = read_partitions(world.store, TABLE)
    assert read_committing(world.store, TABLE, found) == []
    listed = {"committingSegments": [segment(0, 0), segment(0, 1), segment(0, 7), "uploaded"]}
    world.store.create(f"/PAUSELESS_DEBUG_METADATA/{TABLE}", ZNRecord(TABLE, list_fields=listed))
    (stuck,) = read_committing(world.store, TABLE, found)
    assert stuck.segment.name == segment(0, 0)


def test_a_segment_that_is_being_built_is_not_forgotten() -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    assert find_orphans(world.control, world.ideal({}, paused=True)) == []


def test_rows_that_are_being_built_are_not_a_jump() -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    before = read_partitions(world.store, TABLE)
    world.open(0, 1, 10)
    assert find_jumps(world.control, before) == ()


def test_a_forgotten_segment_is_one_that_nobody_will_use() -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    world.open(0, 1, 10)
    states = {segment(0, 0): "ONLINE"}
    assert find_orphans(world.control, world.ideal(states, paused=True)) == [segment(0, 1)]
    # Its writer may still be at work; without the flag, only its age shows that.
    assert find_orphans(world.control, world.ideal(states)) == []
    world.clock.advance(19)
    assert find_orphans(world.control, world.ideal(states)) == []
    world.clock.advance(2)
    assert find_orphans(world.control, world.ideal(states)) == [segment(0, 1)]
    # Pinot itself repairs it after five minutes.
    world.clock.advance(270)
    assert find_orphans(world.control, world.ideal(states)) == []


def test_a_segment_whose_commit_is_in_progress_is_not_forgotten() -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    world.open(0, 1, 10)
    # Pinot has written the next segment's record, but not yet the ideal state.
    assert find_orphans(world.control, world.ideal({segment(0, 0): "CONSUMING"}, paused=True)) == []
    both = {segment(0, 0): "ONLINE", segment(0, 1): "CONSUMING"}
    assert find_orphans(world.control, world.ideal(both)) == []
    # The given ideal state was read earlier; the present one decides.
    old = world.ideal({segment(0, 0): "ONLINE"}, paused=True)
    world.ideal(both)
    assert find_orphans(world.control, old) == []


def test_a_jump_is_found_from_the_first_segment_after_the_pause() -> None:
    world = World()
    for partition in range(4):
        world.committed(partition, 0, 0, 10)
    before = read_partitions(world.store, TABLE)
    world.committed(0, 1, 10, 30)
    world.open(0, 2, 30)
    world.open(1, 1, 25)
    placeholder = {"pinotPluginsPlaceholder": "true", "segment.realtime.startOffset": "4"}
    world.record(segment(2, 1), "IN_PROGRESS", placeholder)
    world.open(2, 2, 4)
    assert find_jumps(world.control, before) == (OffsetJump(1, "10", "25"), OffsetJump(2, "10", "4"))


def test_the_text_of_a_jump() -> None:
    assert str(OffsetJump(1, "10", "25")) == (
        "partition 1 resumed at offset 25; 15 offsets not in the table: 10 to 24"
    )
    assert str(OffsetJump(2, "10", "4")) == "partition 2 resumed at offset 4; 6 offsets read again: 4 to 9"
    assert str(OffsetJump(0, "abc", "def")) == "partition 0 resumed at def instead of abc"


_ROWS = 10


class CountedStates(dict[str, Mapping[str, str]]):
    """Segment states that count how often all of them are read."""

    reads = 0

    def items(self) -> Any:
        self.reads += 1
        return super().items()


def test_the_consuming_segments_are_searched_once() -> None:
    states = CountedStates({"a": {"s1": "CONSUMING"}, "b": {"s1": "ONLINE"}})
    ideal = IdealState(ConsumptionFlags(False, frozenset()), None, states, enabled=True, zxid=0)
    for _ in range(3):
        assert ideal.consuming == {"a": ("s1",)}
    assert states.reads == 1


def _world(partitions: int, segments: int) -> World:
    world = World()
    for partition in range(partitions):
        for number in range(segments):
            world.committed(partition, number, number * _ROWS, (number + 1) * _ROWS)
    return world


def _open_next(world: World, partitions: int) -> None:
    for partition in range(partitions):
        world.open(partition, 5, 5 * _ROWS)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The segment names that were parsed."""
    names: list[str] = []
    original = SegmentName.parse

    def counted(name: str) -> SegmentName | None:
        names.append(name)
        return original(name)

    monkeypatch.setattr(SegmentName, "parse", counted)
    return names


def _assess(partitions: int) -> None:
    world = _world(partitions, segments=5)
    _open_next(world, partitions)
    states = {segment(p, n): "ONLINE" if n < 5 else "CONSUMING" for p in range(partitions) for n in range(6)}
    seen = Observation(
        ideal=ideal_of(states),
        partitions=read_partitions(world.store, TABLE),
        view={name: {"s1": state} for name, state in states.items()},
        progress={},
        stream={},
        stream_problem=None,
        record=None,
    )
    assert assess(TABLE, seen).state is TableState.CONSUMING


def _find_no_jumps(partitions: int) -> None:
    world = _world(partitions, segments=5)
    before = read_partitions(world.store, TABLE)
    _open_next(world, partitions)
    assert find_jumps(world.control, before) == ()


@pytest.mark.parametrize("work", [_assess, _find_no_jumps])
def test_four_times_the_segments_cost_four_times_as_much(
    parsed: list[str], work: Callable[[int], None]
) -> None:
    work(8)
    few = len(parsed)
    parsed.clear()
    work(32)
    assert len(parsed) <= 4 * few


def test_each_of_twelve_thousand_segment_names_is_parsed_once(parsed: list[str]) -> None:
    partitions, segments = 128, 100
    names = [segment(partition, number) for partition in range(partitions) for number in range(segments)]
    newest = newest_by_partition(names)
    assert len(parsed) == len(names) == 12_800
    assert {each.sequence for each in newest.values()} == {segments - 1}


def test_orphans_cost_one_read_of_the_ideal_state() -> None:
    world = World()
    world.ideal({}, paused=True)
    for partition in range(50):
        world.open(partition, 0, 0)
    reads = world.zookeeper.read_counts
    before = reads[IDEAL_PATH]
    assert len(find_orphans(world.control, ideal_of({}, paused=True))) == 50
    assert reads[IDEAL_PATH] - before == 1
