"""The holder of a lease, with ZooKeeper's sessions in memory: a process's thread is a call of ``step``."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import LeaseLostError, PinotPluginError, UnreachableError
from controller_client.zookeeper import Lease, LeaseState
from controller_client.zookeeper.transaction import CheckVersion
from tests.unit.controller_client.zookeeper.memory_sessions import SESSION_S, MemberStore, Server
from tests.unit.fake_clock import FakeClock


class World:
    """Processes in line for a lease."""

    def __init__(self, count: int) -> None:
        self.clock = FakeClock()
        self.server = Server(self.clock)
        self.members = [Member(self, f"p{number}") for number in range(count)]
        self.server.clients = [each.store.client for each in self.members]

    def pass_time(self, seconds: float, *working: Member) -> None:
        """Advance the time while some processes run."""
        ends_s = self.clock.monotonic() + seconds
        while self.clock.monotonic() < ends_s:
            self.server.pass_time(0.5)
            for each in working:
                each.step()

    def holders(self) -> list[Member]:
        return [each for each in self.members if each.lease.is_holder]


@dataclass
class Member:
    """A process."""

    world: World
    name: str
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = MemberStore(self.world.server)
        self.lease = Lease(
            self.store, "job", self.name, what="job", note=self.notes.append, clock=self.world.clock
        )

    def step(self) -> None:
        """Run a step; the process continues whatever ZooKeeper does."""
        with suppress(PinotPluginError):
            self.lease.step()


def test_the_first_holds_and_the_next_waits_and_names_the_holder() -> None:
    world = World(2)
    first, second = world.members
    first.step()
    second.step()
    assert (first.lease.state, second.lease.state) == (LeaseState.HOLDING, LeaseState.WAITING)
    assert first.notes == []
    (note,) = second.notes
    assert note.startswith("this job stands by: p0 (host ")
    second.step()
    assert len(second.notes) == 1
    with pytest.raises(LeaseLostError):
        second.lease.guard()


def test_a_release_passes_the_lease_on_at_once_and_permanently() -> None:
    world = World(2)
    first, second = world.members
    first.step()
    second.step()
    was = first.lease.number
    first.lease.release()
    assert first.lease.state is LeaseState.RELEASED
    second.step()
    assert second.lease.is_holder
    assert second.lease.number > was
    assert second.notes[-1] == "this job takes over"
    first.step()
    assert world.holders() == [second]
    assert len(world.server.nodes) == 1


def test_a_killed_holder_is_replaced_only_after_the_end_of_its_session() -> None:
    world = World(2)
    first, second = world.members
    first.step()
    world.pass_time(2.0, second)
    world.pass_time(SESSION_S - 2.5, second)
    assert not second.lease.is_holder
    assert not first.lease.is_holder, "its session is no longer verified"
    world.pass_time(0.5, second)
    assert second.lease.is_holder


def test_of_many_waiting_processes_one_is_woken() -> None:
    world = World(4)
    for each in world.members:
        each.step()
    for each in world.members:
        each.lease._wake.clear()
    world.members[0].lease.release()
    assert [each.lease._wake.is_set() for each in world.members] == [True, True, False, False]


def test_a_waiting_process_that_dies_is_skipped() -> None:
    world = World(3)
    first, _, third = world.members
    for each in world.members:
        each.step()
    world.pass_time(SESSION_S, first, third)
    first.lease.release()
    third.step()
    assert world.holders() == [third]


def test_a_process_paused_for_long_has_lost_the_lease_before_it_does_anything() -> None:
    world = World(1)
    (only,) = world.members
    only.step()
    was = only.lease.guard()
    world.clock.advance(SESSION_S * 2 / 3)
    assert not only.lease.is_holder
    with pytest.raises(LeaseLostError):
        only.lease.guard()
    for _ in range(2):
        only.step()
    assert only.lease.guard() != was
    assert isinstance(was, CheckVersion)
    assert was.path in world.server.deleted, "what the former holder still sends is refused"


def test_a_short_disconnection_loses_nothing() -> None:
    world = World(2)
    first, second = world.members
    first.step()
    second.step()
    number = first.lease.number
    first.store.client.cut()
    world.pass_time(2.0, *world.members)
    assert first.lease.is_holder
    first.store.client.heal()
    world.pass_time(10.0, *world.members)
    assert world.holders() == [first]
    assert first.lease.number == number


def test_a_slow_verification_is_repeated_at_once() -> None:
    world = World(1)
    (only,) = world.members
    only.step()
    only.lease._wake.clear()
    only.step()
    assert not only.lease._wake.is_set()
    only.store.client.answers_after_s = 3.5
    only.step()
    assert only.lease.is_holder
    assert only.lease._wake.is_set()
    only.store.client.answers_after_s = 0.0
    only.step()
    world.clock.advance(1.0)
    assert only.lease.is_holder


def test_a_long_disconnection_loses_the_lease_before_the_next_gets_it() -> None:
    world = World(2)
    first, second = world.members
    first.step()
    second.step()
    first.store.client.cut()
    world.pass_time(4.5, *world.members)
    assert world.holders() == []
    assert first.notes[-1] == "this job has lost its lease and starts nothing until it has it again"
    world.pass_time(2.5, *world.members)
    assert world.holders() == [second]
    first.store.client.heal()
    world.pass_time(1.0, *world.members)
    assert first.notes[-1].startswith("this job stands by: p1 (host ")
    second.lease.release()
    world.pass_time(1.0, *world.members)
    assert world.holders() == [first]


def test_deleting_the_znode_manually_ends_the_term_at_once() -> None:
    world = World(1)
    (only,) = world.members
    only.step()
    world.server.delete(only.lease.guard().path)
    assert only.lease.state is LeaseState.LOST


def test_a_lost_reply_leaves_one_entry_in_line() -> None:
    world = World(2)
    first, second = world.members
    first.store.client.loses_reply = True
    with pytest.raises(UnreachableError):
        first.lease.step()
    assert world.server.nodes == {}
    second.step()
    first.step()
    assert world.holders() == [second]
    assert len(world.server.nodes) == 2


def test_the_thread_takes_over_by_itself_and_ends() -> None:
    world = World(2)
    first, second = world.members
    took = threading.Event()
    second.lease._note = lambda note: took.set() if "takes over" in note else None
    with first.lease, second.lease:
        assert first.lease.is_holder
        first.lease.release()
        assert took.wait(60)
        assert second.lease.is_holder
    for each in world.members:
        each.lease._thread.join(60)
        assert not each.lease._thread.is_alive()
    assert world.server.nodes == {}


_WHICH = st.integers(0, 2)
_PASS = st.tuples(st.just("pass"), st.sampled_from([0.5, 2.0, 3.9, 4.1, SESSION_S - 0.1, SESSION_S]))
_EVENTS = st.one_of(
    st.tuples(st.just("step"), _WHICH),
    st.tuples(st.just("step"), _WHICH),
    st.tuples(st.sampled_from(["cut", "heal", "expire", "lose reply"]), _WHICH),
    _PASS,
    _PASS,
)


@given(st.lists(_EVENTS, min_size=5, max_size=60))
def test_there_are_never_two_holders_and_finally_there_is_one(events: list[tuple[str, float]]) -> None:
    world = World(3)
    numbers: list[int] = []
    for event, which in events:
        if event == "pass":
            world.server.pass_time(which)
        else:
            member = world.members[int(which)]
            client = member.store.client
            match event:
                case "step":
                    member.step()
                case "cut":
                    client.cut()
                case "heal":
                    client.heal()
                case "expire" if client.session is not None and client.is_connected:
                    # As by an administrator: the client is notified at once. One that is disconnected gives
                    # up the lease before time ends its session; to end it earlier needs its password.
                    world.server.end(client.session)
                case "lose reply":
                    client.loses_reply = True
        holders = world.holders()
        assert len(holders) <= 1
        if holders and (not numbers or holders[0].lease.number != numbers[-1]):
            numbers.append(holders[0].lease.number)
        assert numbers == sorted(numbers)
    for each in world.members:
        each.store.client.heal()
        each.store.client.loses_reply = False
    world.pass_time(3 * SESSION_S, *world.members)
    assert len(world.holders()) == 1


def test_a_session_timeout_granted_shorter_is_verified_more_often() -> None:
    world = World(1)
    (only,) = world.members
    only.store.client._session.session_timeout_s = SESSION_S / 2
    only.step()
    assert only.lease.is_holder
    world.clock.advance(SESSION_S / 3)
    assert not only.lease.is_holder
