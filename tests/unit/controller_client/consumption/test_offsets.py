"""Offsets by partition: what is refused before anything is written or waited for."""

from __future__ import annotations

from typing import Any

import pytest

from controller_client.consumption import resume
from controller_client.consumption.recipes.draining import drain
from controller_client.errors import RejectedError
from controller_client.stream.offsets import StreamUnknownError
from tests.unit.controller_client.consumption.worlds import World, segment

QUIETLY: dict[str, Any] = {"timeout_s": 1, "report": lambda _line: None}


def _world(start: str, *, paused: bool = False) -> World:
    """A table with one partition, whose consuming segment starts at this offset."""
    world = World()
    world.ideal({segment(0, 0): "OFFLINE" if paused else "CONSUMING"}, paused=paused)
    world.record(segment(0, 0), "IN_PROGRESS", {"segment.realtime.startOffset": start})
    return world


@pytest.mark.parametrize("start", ["3:12:-1", '{"shardId-000000000000":"49"}', "MessageId", "-1", "\u0661"])
@pytest.mark.parametrize("until", [None, {0: 12}])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_stream_whose_offsets_are_not_numbers_is_not_drained(
    start: str, until: dict[int, int] | None, dry_run: bool
) -> None:
    world = _world(start)
    before = dict(world.zookeeper.znodes)
    with pytest.raises(StreamUnknownError, match="which is not a number") as caught:
        drain(world.control, until=until, dry_run=dry_run, **QUIETLY)
    assert "pause the table" in str(caught.value.remedy)
    assert world.zookeeper.znodes == before


def test_an_unknown_partition_is_not_waited_for() -> None:
    world = _world("5")
    with pytest.raises(RejectedError, match="t_REALTIME has no partition 3"):
        drain(world.control, until={0: 12, 3: 1}, **QUIETLY)
    # Without offsets, the stream is asked; here that is switched off.
    with pytest.raises(StreamUnknownError, match="switched off"):
        drain(world.control, until=None, **QUIETLY)


def test_a_committed_offset_that_is_not_a_number() -> None:
    world = _world("7")
    offsets = {"segment.realtime.startOffset": "0", "segment.realtime.endOffset": "3:12:-1"}
    world.record(segment(1, 0), "DONE", offsets)
    with pytest.raises(StreamUnknownError, match="partition 1 of t_REALTIME is at the offset '3:12:-1'"):
        drain(world.control, until={0: 12}, **QUIETLY)


def test_no_offset_is_set_in_such_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    world = _world("3:12:-1", paused=True)
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: {})
    with pytest.raises(StreamUnknownError, match="partition 0 of t_REALTIME is at the offset '3:12:-1'"):
        resume(world.control, consume_from={0: 100}, timeout_s=1)
    assert world.store.children("/SEGMENTS/t_REALTIME") == [segment(0, 0)]
