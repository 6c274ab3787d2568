"""A reset whose end Helix's controller misses; segments that no server can build any more."""

from __future__ import annotations

import pytest

from controller_client.consumption import recovering as module
from controller_client.consumption.table_control import TableControl
from controller_client.errors import WaitTimeoutError
from controller_client.rest.segments import SegmentsApi
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, World, segment


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A table with a segment that is in ERROR on its server until it is reset, and then OFFLINE."""
    world = World()
    world.ideal({segment(0, 0): "CONSUMING"})
    in_error = [segment(0, 0)]
    monkeypatch.setattr(module, "failed_segments", lambda _control: list(in_error))
    monkeypatch.setattr(SegmentsApi, "reset", lambda _self, _table, name: in_error.remove(name))
    return world


def _ideal_version(world: World) -> int:
    return world.zookeeper.znodes[IDEAL_PATH][1]


def test_helix_is_woken_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = world.zookeeper.znodes[IDEAL_PATH]

    def consume(_self: TableControl) -> dict[str, tuple[str, ...]]:
        # Helix sends the segment's next transition when the ideal state is written, and not before.
        return {segment(0, 0): ("s1",)} if _ideal_version(world) > before[1] else {}

    monkeypatch.setattr(TableControl, "servers_consume", consume)
    module._reset_failed(world.control, [segment(0, 0)], 120, lambda _line: None)
    assert world.zookeeper.znodes[IDEAL_PATH] == (before[0], before[1] + 1)


def test_helix_is_not_woken_up_all_the_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _ideal_version(world)
    monkeypatch.setattr(TableControl, "servers_consume", lambda _self: {})
    with pytest.raises(WaitTimeoutError, match="no server consumes the partitions 0"):
        module._reset_failed(world.control, [segment(0, 0)], 60, lambda _line: None)
    assert 4 <= _ideal_version(world) - before <= 6


def test_only_segments_in_error_on_every_server_are_consumed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.ideal({segment(0, 0): "ONLINE", segment(1, 0): "ONLINE", segment(2, 0): "ONLINE"})
    for partition in range(3):
        world.committing(partition, 0, 0, 10)
    view = {segment(0, 0): {"s1": "ERROR"}, segment(1, 0): {"s1": "ERROR", "s2": "CONSUMING"}}
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: view)
    assert module._lost_segments(world.control) == [segment(0, 0)]


def test_the_request_is_repeated_until_pinot_has_built_them(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    requests: list[float] = []

    def resume(_table: str) -> None:
        requests.append(world.clock.monotonic())
        if len(requests) == 3:
            path = segment_path(TABLE, segment(0, 0))
            world.store.set(path, ZNRecord(segment(0, 0), {"segment.realtime.status": "DONE"}), 0)

    monkeypatch.setattr(world.client.consumption, "resume", resume)
    steps: list[str] = []
    module._consume_again(world.control, [segment(0, 0)], 300, steps.append)
    assert steps == [f"have Pinot consume {segment(0, 0)} again"]
    assert len(requests) == 3
    assert requests[2] - requests[1] >= 20
    world.committing(1, 0, 0, 10)
    with pytest.raises(WaitTimeoutError, match="not yet built") as caught:
        module._consume_again(world.control, [segment(1, 0)], 30, steps.append)
    assert "disasterRecoveryMode" in str(caught.value)
