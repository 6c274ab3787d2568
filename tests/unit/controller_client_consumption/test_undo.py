"""Where a table goes on when a change of its stream is undone, and when that is killed half-way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from controller_client.consumption import ConsumeFrom, ResumeResult
from controller_client.consumption import change_stream as module
from controller_client.consumption.change_stream import RECIPE, change_stream
from controller_client.consumption.control import TableControl
from controller_client.consumption.plan import begin, read_plan, save
from controller_client.consumption.stream_config import StreamConfig
from controller_client.errors import RejectedError
from tests.unit.controller_client_consumption.worlds import TABLE, World, segment


class KilledError(Exception):
    """The process ends here."""


@dataclass
class Calls:
    """What is done to the cluster, in the place of it."""

    done: list[object] = field(default_factory=list)
    kill_in_resume: bool = False

    def resume(
        self, _control: TableControl, *, consume_from: ConsumeFrom | Mapping[int, int], timeout_s: float
    ) -> ResumeResult:
        self.done.append(("resume", consume_from))
        if self.kill_in_resume:
            raise KilledError
        return ResumeResult(changed=True)

    def put(self, _control: TableControl, _old: StreamConfig, new: StreamConfig) -> None:
        self.done.append(("put", new.topic))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()
    monkeypatch.setattr(module, "pause", lambda *_args, **_more: calls.done.append("pause"))
    monkeypatch.setattr(module, "wait_paused", lambda *_args, **_more: calls.done.append("wait"))
    monkeypatch.setattr(module, "failed_segments", lambda _control: [])
    monkeypatch.setattr(module, "resume", calls.resume)
    monkeypatch.setattr(module, "_put", calls.put)
    return calls


def _world() -> World:
    """A table whose partition 1 has read something of the new stream."""
    world = World()
    world.ideal({segment(0, 0): "ONLINE", segment(1, 0): "ONLINE", segment(1, 1): "ONLINE"}, paused=True)
    world.committed(0, 0, 0, 10)
    world.committed(1, 0, 0, 20)
    world.committed(1, 1, 0, 7)
    streams = {name: {"streamType": "kafka", "stream.kafka.topic.name": name} for name in ("old", "new")}
    plan = begin(world.control, RECIPE, {**streams, "changes": {}, "consume_from": "smallest"})
    save(world.control, plan, step="undo", ends={"0": "10", "1": "20"}, why="it is broken")
    return world


def _run(world: World) -> None:
    change_stream(world.control, {}, consume_from=None, timeout_s=5, say=lambda _text: None)


def test_partitions_that_read_the_new_stream_go_back_to_their_old_offsets(calls: Calls) -> None:
    world = _world()
    with pytest.raises(RejectedError, match="could not be read: it is broken"):
        _run(world)
    assert calls.done == ["pause", "wait", ("put", "old"), ("resume", {1: 20})]
    assert world.clock.sleeps == [25.0], "the controller's own tries with the new stream end"
    assert read_plan(world.store, TABLE) is None


@pytest.mark.parametrize(("cleared", "expected"), [(False, {1: 20}), (True, ConsumeFrom.LAST_CONSUMED)])
def test_old_offsets_are_used_once(calls: Calls, cleared: bool, expected: object) -> None:
    world = _world()
    calls.kill_in_resume = True
    with pytest.raises(KilledError):
        _run(world)
    calls.kill_in_resume = False
    calls.done.clear()
    world.ideal({segment(0, 0): "ONLINE", segment(1, 1): "ONLINE"}, paused=not cleared)
    # What is committed since then must not be read again.
    world.committed(1, 2, 20, 33)
    with pytest.raises(RejectedError):
        _run(world)
    assert calls.done == [("resume", expected)]
