"""When a wait for new segments may end although a server is dead, and when it must not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.errors import WaitTimeoutError
from controller_client.publishing.loading import LIVE_SERVER_GRACE_S, NEW_SEGMENT_S, SegmentLoading
from controller_client.rest.capabilities import Capabilities, PinotVersion
from controller_client.rest.segment_states import LoadState
from tests.unit.counted_name import CountedName, cost
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

TABLE = TableName("t_OFFLINE")
_TIMEOUT_S = 600.0
_OLD = PinotVersion(0, 11)


class Servers:
    """A table with replica groups (S1, S3) and (S2, S4): segments a and b on S1 and S2, c on S3 and S4."""

    IDEAL: Mapping[str, tuple[str, ...]] = {"a": ("S1", "S2"), "b": ("S1", "S2"), "c": ("S3", "S4")}

    def __init__(self, version: PinotVersion = _OLD) -> None:
        self.clock = FakeClock()
        self.store, self.zookeeper = memory_store()
        for server in ("S1", "S2", "S3", "S4"):
            self.zookeeper.create(f"/c/LIVEINSTANCES/{server}", b"")
        self.states = {(name, server): "ONLINE" for name, servers in self.IDEAL.items() for server in servers}
        self.client = ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=self.clock)
        cluster: Any = self.client.cluster
        cluster.capabilities = lambda: Capabilities(version)
        segments: Any = self.client.segments
        segments.load_state = self._load_state
        segments.reset = lambda *_, **__: None
        segments.load_errors = lambda _table: {}

    def _load_state(self, _table: str, names: Iterable[str]) -> LoadState:
        ideal = {name: dict.fromkeys(servers, "ONLINE") for name, servers in self.IDEAL.items()}
        seen: dict[str, dict[str, str]] = {}
        for (name, server), state in self.states.items():
            seen.setdefault(name, {})[server] = state
        return LoadState.of(names, ideal, seen)

    def kill(self, server: str) -> None:
        self.zookeeper.delete(f"/c/LIVEINSTANCES/{server}")
        for name in self.IDEAL:
            self.states.pop((name, server), None)

    def lacks(self, server: str, *names: str, state: str | None = None) -> None:
        for name in names:
            del self.states[name, server]
            if state is not None:
                self.states[name, server] = state

    def waited_s(self, min_replicas: int | None) -> float:
        """Return the duration of a wait; `_TIMEOUT_S` if it timed out."""
        began_s = self.clock.monotonic()
        loading = SegmentLoading(self.client, TABLE, self.store, min_replicas=min_replicas)
        try:
            loading.wait(self.IDEAL, _TIMEOUT_S)
        except WaitTimeoutError:
            return _TIMEOUT_S
        return self.clock.monotonic() - began_s


@pytest.fixture
def servers() -> Servers:
    return Servers()


def test_with_a_dead_server_it_continues_at_once_if_one_replica_is_enough(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    servers.kill("S1")
    assert servers.waited_s(1) == 0
    assert "continuing although servers are behind: a absent on S1" in caplog.text


def test_brokers_that_skip_new_segments_must_first_treat_them_as_old(servers: Servers) -> None:
    servers = Servers(PinotVersion(1, 0))
    servers.kill("S1")
    assert NEW_SEGMENT_S <= servers.waited_s(1) < NEW_SEGMENT_S + 2
    assert Servers(PinotVersion(1, 0)).waited_s(1) == 0, "with no server behind"


def test_by_default_all_replicas_are_awaited(servers: Servers) -> None:
    servers.kill("S1")
    assert servers.waited_s(None) == _TIMEOUT_S


@pytest.mark.parametrize("replicas", [2, 5])
def test_the_number_of_replicas_means_all(servers: Servers, replicas: int) -> None:
    assert servers.waited_s(replicas) == 0
    servers.kill("S1")
    assert servers.waited_s(replicas) == _TIMEOUT_S


def test_with_all_replicas_of_a_segment_on_dead_servers_it_keeps_waiting(servers: Servers) -> None:
    servers.kill("S3")
    servers.kill("S4")
    assert servers.waited_s(1) == _TIMEOUT_S


def test_a_dead_replica_group_is_left_behind(servers: Servers) -> None:
    servers.kill("S1")
    servers.kill("S3")
    assert servers.waited_s(1) == 0


def test_two_groups_that_lack_different_segments_do_not_count(servers: Servers) -> None:
    """Each segment is available, but a broker that routes to whole replica groups finds no group."""
    servers.lacks("S1", "a")
    servers.lacks("S2", "b")
    assert servers.waited_s(1) == _TIMEOUT_S


def test_servers_of_other_segments_do_not_count_against_each_other(servers: Servers) -> None:
    servers.kill("S1")
    servers.kill("S4")
    assert servers.waited_s(1) == 0


def test_a_live_server_gets_more_time(servers: Servers) -> None:
    servers.lacks("S1", "a", "b")
    assert LIVE_SERVER_GRACE_S <= servers.waited_s(1) < LIVE_SERVER_GRACE_S + 2


def test_a_server_that_returns_in_time_is_not_behind(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    servers.lacks("S1", "a")

    def come(_now_s: float) -> None:
        if servers.clock.monotonic() > LIVE_SERVER_GRACE_S / 2:
            servers.states["a", "S1"] = "ONLINE"

    servers.clock.on_sleep = come
    assert LIVE_SERVER_GRACE_S / 2 < servers.waited_s(1) < LIVE_SERVER_GRACE_S
    assert "behind" not in caplog.text


def test_a_server_with_segments_in_error_does_not_block_it(servers: Servers) -> None:
    servers.lacks("S1", "a", state="ERROR")
    assert 0 < servers.waited_s(1) <= LIVE_SERVER_GRACE_S + 2
    assert servers.waited_s(None) == _TIMEOUT_S


def test_a_segment_in_error_does_not_shorten_the_wait_for_skipped_segments() -> None:
    servers = Servers(PinotVersion(1, 0))
    servers.kill("S1")
    servers.lacks("S3", "c", state="ERROR")
    asked = 0

    def load_errors(_table: str) -> dict[tuple[str, str], str]:
        nonlocal asked
        asked += 1
        return {}

    segments: Any = servers.client.segments
    segments.load_errors = load_errors
    assert NEW_SEGMENT_S <= servers.waited_s(1) < NEW_SEGMENT_S + 2
    assert asked == 1


def test_a_segment_without_a_server_is_awaited() -> None:
    assert not LoadState.of(["a"], {}, {}).is_served(1)
    assert not LoadState.of(["a", "b"], {"a": {"S1": "ONLINE"}}, {"a": {"S1": "ONLINE"}}).is_served(1)


def test_servers_behind_are_named_with_the_number_of_segments(servers: Servers) -> None:
    servers.kill("S1")
    servers.lacks("S4", "c")
    assert servers.client.segments.load_state(TABLE, "abc").behind == {"S1": 2, "S4": 1}


_SERVERS = st.sampled_from(["S1", "S2", "S3"])


@given(
    st.dictionaries(st.sampled_from("abcd"), st.sets(_SERVERS, min_size=1), min_size=1),
    st.sets(st.tuples(st.sampled_from("abcd"), _SERVERS)),
    st.integers(1, 4),
)
def test_if_it_continues_each_segment_has_the_replicas(
    ideal: dict[str, set[str]], lacking: set[tuple[str, str]], replicas: int
) -> None:
    wanted = {name: dict.fromkeys(servers, "ONLINE") for name, servers in ideal.items()}
    seen = {
        name: {server: "ONLINE" for server in servers if (name, server) not in lacking}
        for name, servers in ideal.items()
    }
    state = LoadState.of(ideal, wanted, seen)
    if state.is_served(replicas):
        assert all(len(seen[name]) >= min(replicas, len(servers)) >= 1 for name, servers in ideal.items())
    if not state.faults:
        assert state.is_served(replicas)


def _cost(segments: int) -> int:
    names = [CountedName(f"s_{number}") for number in range(segments)]
    ideal: dict[str, dict[str, str]] = {
        name: {f"S{number % 500}": "ONLINE", "T": "ONLINE"} for number, name in enumerate(names)
    }
    seen: dict[str, dict[str, str]] = {name: {"T": "ONLINE"} for name in names}
    return cost(lambda: LoadState.of(names, ideal, seen).is_served(1))


def test_four_times_the_segments_cost_four_times_as_much() -> None:
    assert 0 < _cost(3_200) <= 4.5 * _cost(800)
