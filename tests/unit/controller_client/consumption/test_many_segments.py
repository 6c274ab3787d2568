"""The cost of reading a table with many segments, counted in names that are parsed."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping

import pytest

from controller_client.common.names import SegmentName
from controller_client.consumption import TableState
from controller_client.consumption.offset_jumps import find_jumps
from controller_client.consumption.orphans import find_orphans
from controller_client.consumption.status import Observation, assess
from controller_client.helix.ideal_state import ConsumptionFlags, IdealState
from controller_client.helix.stream_segments import newest_by_partition, read_partitions
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, World, ideal_of, segment

_ROWS = 10


class CountedStates(Mapping[str, Mapping[str, str]]):
    """Segment states that count how often all of them are read."""

    def __init__(self, states: Mapping[str, Mapping[str, str]]) -> None:
        self._states = states
        self.reads = 0

    def __getitem__(self, name: str) -> Mapping[str, str]:
        return self._states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def items(self) -> ItemsView[str, Mapping[str, str]]:
        self.reads += 1
        return self._states.items()


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


def _assessed(partitions: int, parsed: list[str]) -> int:
    world = _world(partitions, segments=5)
    for partition in range(partitions):
        world.open(partition, 5, 5 * _ROWS)
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
    parsed.clear()
    assert assess(TABLE, seen).state is TableState.CONSUMING
    return len(parsed)


def test_a_status_of_four_times_the_segments_costs_four_times_as_much(parsed: list[str]) -> None:
    assert _assessed(32, parsed) <= 4 * _assessed(8, parsed)


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


def _jumps(partitions: int, parsed: list[str]) -> int:
    world = _world(partitions, segments=5)
    before = read_partitions(world.store, TABLE)
    for partition in range(partitions):
        world.open(partition, 5, 5 * _ROWS)
    parsed.clear()
    assert find_jumps(world.control, before) == ()
    return len(parsed)


def test_jumps_among_four_times_the_segments_cost_four_times_as_much(parsed: list[str]) -> None:
    assert _jumps(32, parsed) <= 4 * _jumps(8, parsed)
