"""The pause hook's reads from ZooKeeper: counted, and no change is missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.errors import UnreachableError
from controller_client.helix.ideal_state import ideal_state_path, read_flags_at, set_paused_partitions
from controller_client.zookeeper import Children, ZNRecord
from controller_client.zookeeper.watched import RECHECK_S
from server_hooks.pause.followed import FollowedTables
from server_hooks.pause.gate import TableFlags
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import CLUSTER, MemoryPropertyStore, MemoryZooKeeper

SERVER = "Server_a_1"
TABLES = frozenset(TableName(f"t{number}_REALTIME") for number in range(50))
ONE, TWO = sorted(TABLES)[:2]


class World:
    """A cluster with 50 tables, and the hook's view of it on one server."""

    def __init__(self) -> None:
        self.store = MemoryPropertyStore()
        self.zookeeper: MemoryZooKeeper = self.store.zookeeper
        live = ZNRecord(SERVER, {"SESSION_ID": "1"}).to_bytes()
        self.zookeeper.create(f"/{CLUSTER}/LIVEINSTANCES/{SERVER}", live)
        for table in TABLES:
            self.zookeeper.create(ideal_state_path(self.store, table), ZNRecord(table).to_bytes())
        self.clock = FakeClock()
        self.woken = 0
        self.followed = FollowedTables(self.store, SERVER, self.wake, clock=self.clock)

    def wake(self) -> None:
        self.woken += 1

    def pause(self, table: TableName, *partitions: int) -> None:
        set_paused_partitions(self.store, table, lambda _paused: frozenset(partitions))

    def tick(self) -> dict[TableName, frozenset[int]]:
        """Do a tick of the hook: check its session and return the paused partitions."""
        self.followed.session()
        states = self.followed.read(TABLES).states
        return {table: state.flags.paused_partitions for table, state in states.items()}

    def reads_of(self, work: Callable[[], object]) -> dict[str, int]:
        before = self.zookeeper.read_counts.copy()
        work()
        return dict(self.zookeeper.read_counts - before)


@pytest.fixture
def world() -> World:
    return World()


def test_while_nothing_is_paused_nothing_is_read(world: World) -> None:
    first = world.reads_of(world.tick)
    assert sorted(first.values()) == [1, 1]
    assert not any("IDEALSTATES" in path for path in first)
    assert world.reads_of(lambda: [world.tick() for _ in range(100)]) == {}


def test_one_paused_table_is_read_alone_and_once(world: World) -> None:
    world.tick()
    world.pause(ONE, 3)
    assert world.woken
    reads = world.reads_of(world.tick)
    assert [path for path in reads if "IDEALSTATES" in path] == [ideal_state_path(world.store, ONE)]
    assert sum(reads.values()) == 2
    assert world.reads_of(lambda: [world.tick() for _ in range(100)]) == {}
    assert world.tick() == {ONE: {3}}
    world.pause(ONE, 3, 4)
    assert world.tick() == {ONE: {3, 4}}
    world.pause(ONE)
    assert world.tick() == {}
    assert world.reads_of(lambda: [world.tick() for _ in range(100)]) == {}


def test_a_later_read_has_the_greater_number(world: World) -> None:
    def read() -> TableFlags:
        return TableFlags(*read_flags_at(world.store, ONE))

    before = read()
    world.pause(ONE, 1)
    paused = read()
    world.pause(TWO, 1)
    assert read() == paused
    world.pause(ONE)
    after = world.followed.read(TABLES).flags_of_unlisted
    assert before.zxid < paused.zxid < after.zxid
    assert not after.flags.paused_partitions


def test_a_table_whose_ideal_state_is_damaged_does_not_hide_the_others(world: World) -> None:
    world.pause(ONE, 1)
    world.pause(TWO, 2)
    path = ideal_state_path(world.store, ONE)
    damaged = ZNRecord(ONE, list_fields={"pausedPartitions": ["x"]})
    world.zookeeper.set(path, damaged.to_bytes(), world.zookeeper.znodes[path][1])
    here = world.followed.read(TABLES)
    assert set(here.states) == {TWO}
    assert not here.dropped
    assert ONE not in here.unlisted
    world.pause(TWO)
    assert TWO in world.followed.read(TABLES).unlisted


def test_a_pause_during_the_read_of_the_list_is_not_missed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = world.zookeeper.read_children

    def paused_behind(path: str, changed: Callable[[Any], None] | None = None) -> Children:
        found = read(path, changed)
        monkeypatch.setattr(world.zookeeper, "read_children", read)
        world.pause(ONE, 0)
        return found

    monkeypatch.setattr(world.zookeeper, "read_children", paused_behind)
    assert world.tick() == {}
    assert world.woken
    assert world.tick() == {ONE: {0}}


def test_a_failed_read_is_repeated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.tick()
    with monkeypatch.context() as away:

        def fail(*_: object) -> Children:
            raise UnreachableError("ZooKeeper is away")

        away.setattr(world.zookeeper, "read_children", fail)
        world.pause(ONE, 0)
        for _ in range(2):
            with pytest.raises(UnreachableError):
                world.tick()
    assert world.tick() == {ONE: {0}}


def test_after_a_lost_connection_everything_is_read_again(world: World) -> None:
    world.pause(ONE, 0)
    world.tick()
    world.woken = 0
    world.zookeeper.cut()
    assert world.woken
    assert len(world.reads_of(world.tick)) == 3
    assert world.reads_of(world.tick) == {}


def test_after_a_new_client_or_a_long_time_everything_is_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.tick()
    monkeypatch.setattr(MemoryZooKeeper, "incarnation", 1)
    assert len(world.reads_of(world.tick)) == 2
    world.clock.advance(RECHECK_S)
    assert len(world.reads_of(world.tick)) == 2


def test_a_table_dropped_while_paused_is_read_no_more(world: World) -> None:
    world.pause(ONE, 0)
    assert world.tick() == {ONE: {0}}
    assert world.followed.read(TABLES).dropped == set()
    world.zookeeper.delete(ideal_state_path(world.store, ONE))
    assert world.tick() == {}
    assert world.followed.read(TABLES).dropped == {ONE}
    assert world.reads_of(world.tick) == {}


def test_the_session_of_the_server_is_followed(world: World) -> None:
    path = f"/{CLUSTER}/LIVEINSTANCES/{SERVER}"
    assert world.followed.session() == "1"
    world.zookeeper.delete(path)
    assert world.followed.session() is None
    world.zookeeper.create(path, ZNRecord(SERVER, {"SESSION_ID": "2"}).to_bytes())
    assert world.followed.session() == "2"


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from([ONE, TWO]), st.frozensets(st.integers(0, 3))),
            st.sampled_from(["tick", "cut"]),
        ),
        max_size=30,
    )
)
def test_the_next_read_shows_all_changes(
    steps: list[tuple[TableName, frozenset[int]] | str],
) -> None:
    world, paused = World(), dict[TableName, frozenset[int]]()
    for step in steps:
        if isinstance(step, tuple):
            table, partitions = step
            world.pause(table, *partitions)
            paused[table] = partitions
        elif step == "cut":
            world.zookeeper.cut()
        assert step != "tick" or world.tick() == {table: each for table, each in paused.items() if each}
    assert world.tick() == {table: each for table, each in paused.items() if each}
