"""Repairs of pushed segments that do not load, their number, and the error if they do not help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.errors import RejectedError, WaitTimeoutError
from controller_client.publishing.loading import SegmentLoading
from controller_client.rest.segment_states import LoadState
from controller_client.zookeeper import ZNRecord
from tests.unit.counted_name import CountedName, cost
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

TABLE = TableName("t_OFFLINE")
IDEAL_PATH = f"/c/IDEALSTATES/{TABLE}"


class World:
    """A table with pushed segments: the servers' reports on them, and the repairs made."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store, self.zookeeper = memory_store()
        self.zookeeper.znodes[IDEAL_PATH] = (b"as it is", 3)
        self.states: dict[str, str] = {}
        self.unassigned: set[str] = set()
        self.reasons: dict[tuple[str, str], str] = {}
        self.on_reset: Callable[[str], None] = lambda _name: None
        self.resets: list[tuple[str, str | None]] = []
        self.pushed: list[set[str]] = []
        self.client = ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=self.clock)
        segments: Any = self.client.segments
        segments.load_state = self._load_state
        segments.reset = self._reset
        segments.load_errors = lambda _table: self.reasons

    def _load_state(self, table: str, names: Iterable[str]) -> LoadState:
        assert table == TABLE
        ideal = {name: {"S1": "ONLINE"} for name in self.states if name not in self.unassigned}
        seen = {name: {"S1": state} for name, state in self.states.items()}
        return LoadState.of(names, ideal, seen)

    def _reset(self, table: str, name: str, *, server: str | None) -> None:
        assert table == TABLE
        self.resets.append((name, server))
        self.on_reset(name)

    def segment(self, state: str, name: str = "a") -> None:
        self.states[name] = state
        self.store.create(f"/SEGMENTS/{TABLE}/{name}", ZNRecord(name))

    def push(self, names: Collection[str]) -> None:
        for name in names:
            assert self.store.get(f"/SEGMENTS/{TABLE}/{name}") is None, "a push of it would change nothing"
            self.segment(self.states[name], name)
        self.pushed.append(set(names))

    def wait(self, timeout_s: float = 600, *, push: Callable[[Collection[str]], None] | None = None) -> None:
        SegmentLoading(self.client, TABLE, self.store, push or self.push).wait(sorted(self.states), timeout_s)

    @property
    def woken(self) -> int:
        content, version = self.zookeeper.znodes[IDEAL_PATH]
        assert content == b"as it is"
        return version - 3


@pytest.fixture
def world() -> World:
    return World()


def wake_brings(world: World, state: str = "ONLINE") -> None:
    """Simulate Helix's reaction to a written ideal state: OFFLINE segments start to load."""

    def before_set(path: str) -> None:
        assert path == IDEAL_PATH
        for name, seen in world.states.items():
            if seen == "OFFLINE":
                world.states[name] = state

    world.zookeeper.before_set = before_set


def reset_brings(world: World, *states: str) -> None:
    """Make resets put a segment into these states in turn; the last one stays."""
    left = list(states)

    def on_reset(name: str) -> None:
        world.states[name] = left.pop(0) if len(left) > 1 else left[0]

    world.on_reset = on_reset


def test_a_segment_in_error_is_reset_and_helix_woken(world: World) -> None:
    world.segment("ERROR")
    world.segment("ONLINE", "b")
    reset_brings(world, "OFFLINE")
    wake_brings(world)
    world.wait()
    assert world.resets == [("a", "S1")]
    assert world.woken == 1
    assert world.clock.monotonic() < 10
    assert world.pushed == []


def test_a_segment_that_fails_again_is_pushed_again(world: World) -> None:
    world.segment("ERROR")
    reset_brings(world, "ERROR", "ONLINE")
    world.wait()
    assert world.resets == [("a", "S1")] * 2
    assert world.pushed == [{"a"}]


def test_a_permanently_failing_segment_is_named_with_the_servers_reason(world: World) -> None:
    world.segment("ERROR")
    world.segment("ONLINE", "b")
    world.reasons["a", "S1"] = "java.io.EOFException: Unexpected end of ZLIB input stream"
    reset_brings(world, "ERROR")
    with pytest.raises(WaitTimeoutError) as caught:
        world.wait()
    text = str(caught.value)
    assert "1 of 2 segments of t_OFFLINE do not load although they were reset and pushed again" in text
    assert "a ERROR on S1 (should be ONLINE): java.io.EOFException: Unexpected end" in text
    assert len(world.resets) == 3
    assert len(world.pushed) == 2
    assert world.clock.monotonic() < 60


def test_if_nothing_can_be_pushed_a_segment_is_reset_once(world: World) -> None:
    world.segment("ERROR")
    reset_brings(world, "ERROR")
    with pytest.raises(WaitTimeoutError, match=r"were reset: a ERROR on S1 .*: the server reports no reason"):
        SegmentLoading(world.client, TABLE, world.store).wait(["a"], 600)
    assert len(world.resets) == 1


def test_a_segment_missing_from_the_ideal_state_is_pushed_as_a_new_one(world: World) -> None:
    world.segment("absent")
    world.unassigned.add("a")

    def push(names: Collection[str]) -> None:
        world.push(names)
        world.unassigned.clear()
        world.states["a"] = "ONLINE"

    world.wait(push=push)
    assert world.pushed == [{"a"}]
    assert 10 <= world.clock.monotonic() < 20  # a push may be in progress
    assert world.resets == []


def test_a_segment_whose_record_pinot_removed_is_pushed_again(world: World) -> None:
    """The controller cleans up a partly failed push a few seconds later, whatever happened since."""
    world.states["a"] = "absent"
    world.unassigned.add("a")

    def push(names: Collection[str]) -> None:
        world.push(names)
        if len(world.pushed) == 2:
            world.unassigned.clear()
            world.states["a"] = "ONLINE"

    world.wait(push=push)
    assert world.pushed == [{"a"}, {"a"}]


def test_helix_is_woken_for_a_manually_reset_segment(world: World) -> None:
    world.segment("OFFLINE")
    wake_brings(world)
    world.wait()
    assert world.woken == 1
    assert 10 <= world.clock.monotonic() < 15
    assert (world.resets, world.pushed) == ([], [])


def test_a_slow_server_is_left_alone(world: World) -> None:
    world.segment("OFFLINE")

    def later(_now: float) -> None:
        if world.clock.monotonic() > 300:
            world.states["a"] = "ONLINE"

    world.clock.on_sleep = later
    world.wait()
    assert (world.resets, world.pushed) == ([], [])
    assert world.woken <= 7  # at growing intervals


def test_a_server_that_is_down_is_awaited(world: World) -> None:
    world.segment("absent")
    with pytest.raises(WaitTimeoutError, match="waited 60 s for 1 segments of t_OFFLINE online"):
        world.wait(60)
    assert (world.resets, world.pushed) == ([], [])


def test_a_refused_reset_does_not_count(world: World) -> None:
    """Pinot refuses it while a transition is in progress."""
    world.segment("ERROR")

    def on_reset(_name: str) -> None:
        if len(world.resets) < 3:
            raise RejectedError("a pending message exists")
        world.states["a"] = "ONLINE"

    world.on_reset = on_reset
    world.wait()
    assert len(world.resets) == 3
    assert world.pushed == []


STATES = st.sampled_from(["ERROR", "OFFLINE", "absent", "ONLINE"])


@given(resets=st.lists(STATES, min_size=1, max_size=4), first=STATES, woken=STATES)
def test_repairs_are_limited_whatever_happens(resets: list[str], first: str, woken: str) -> None:
    world = World()
    world.segment(first)
    reset_brings(world, *resets)
    wake_brings(world, woken)
    try:
        world.wait(120)
    except WaitTimeoutError:
        assert world.states["a"] != "ONLINE"
    else:
        assert world.states["a"] == "ONLINE"
    assert len(world.resets) <= 3
    assert len(world.pushed) <= 2


def _cost(segments: int) -> int:
    world = World()
    for number in range(segments):
        world.segment("ERROR", CountedName(f"s_{number}"))
    reset_brings(world, "ONLINE")
    result = cost(world.wait)
    assert len(world.resets) == segments
    return result


def test_the_repair_of_four_times_the_segments_costs_four_times_as_much() -> None:
    assert _cost(800) <= 4.5 * _cost(200)
