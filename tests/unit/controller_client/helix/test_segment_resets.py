"""A reset is over when the external view shows what the servers have loaded again, not before."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.errors import WaitTimeoutError
from controller_client.helix import SegmentResets
from controller_client.rest.segment_states import find_unloaded
from controller_client.zookeeper import ZNRecord
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore

TABLE = TableName("t_OFFLINE")
SERVER, OTHER = "Server_a", "Server_b"
VIEW = f"/c/EXTERNALVIEW/{TABLE}"


class Cluster:
    """One segment on one server, whose states change while a client waits.

    Args:
        changes: Before each pause: a state of the server, or of the external view (in brackets); None: none.
    """

    def __init__(self, changes: Sequence[str | None]) -> None:
        self._changes = list(changes)
        self._transitions = 0
        self.clock = FakeClock(on_sleep=lambda _now: self._change())
        self.store = MemoryPropertyStore()
        zookeeper = self.store.zookeeper
        live = ZNRecord(SERVER, {"SESSION_ID": "1", "LIVE_INSTANCE": SERVER})
        zookeeper.create(f"/c/LIVEINSTANCES/{SERVER}", live.to_bytes())
        zookeeper.create(f"/c/IDEALSTATES/{TABLE}", ZNRecord(TABLE).to_bytes())
        self._server_is("ONLINE")
        self._view_is("ONLINE")
        client: Any = SimpleNamespace(clock=self.clock, segments=SimpleNamespace(unloaded=self._unloaded))
        self.resets = SegmentResets(client, self.store, TABLE, ["s"], [SERVER, OTHER])

    def _write(self, path: str, record: ZNRecord) -> None:
        zookeeper = self.store.zookeeper
        if path in zookeeper.znodes:
            zookeeper.set(path, record.to_bytes(), zookeeper.znodes[path][1])
        else:
            zookeeper.create(path, record.to_bytes())

    def _server_is(self, state: str) -> None:
        self._transitions += 1
        states = {"s": {"CURRENT_STATE": state, "END_TIME": str(self._transitions)}}
        self._write(f"/c/INSTANCES/{SERVER}/CURRENTSTATES/1/{TABLE}", ZNRecord(TABLE, map_fields=states))

    def _view_is(self, state: str) -> None:
        self.view = state
        self._write(VIEW, ZNRecord(TABLE, map_fields={"s": {SERVER: state}}))

    def _change(self) -> None:
        change = self._changes.pop(0) if self._changes else None
        if change is not None and change.startswith("["):
            self._view_is(change.strip("[]"))
        elif change is not None:
            self._server_is(change)

    def _unloaded(self, _table: TableName, names: Sequence[str]) -> Sequence[Any]:
        return list(find_unloaded(names, {"s": {SERVER: "ONLINE"}}, {"s": {SERVER: self.view}}))

    @property
    def left(self) -> int:
        return len(self._changes)


@pytest.mark.parametrize(
    "changes",
    [
        ["OFFLINE", "[OFFLINE]", "ONLINE", "[ONLINE]"],
        [None, None, "OFFLINE", "ONLINE", "[OFFLINE]", "[ONLINE]"],
        ["OFFLINE", "ONLINE", None, "[OFFLINE]", None, "[ONLINE]"],
        ["ERROR", "[ERROR]", "OFFLINE", "[OFFLINE]", "ONLINE", "[ONLINE]"],
    ],
)
def test_the_wait_ends_with_the_last_change(changes: list[str | None]) -> None:
    cluster = Cluster(changes)
    cluster.resets.wait(60)
    assert (cluster.left, cluster.view) == (0, "ONLINE")


def test_helix_may_skip_the_state_in_between() -> None:
    cluster = Cluster(["OFFLINE", "ONLINE"])
    cluster.resets.wait(60)
    assert 3 <= sum(cluster.clock.sleeps) < 8


@pytest.mark.parametrize("changes", [[], ["OFFLINE"], ["OFFLINE", "[OFFLINE]", "ONLINE"], ["ERROR"]])
def test_what_is_missing_is_in_the_error(changes: list[str | None]) -> None:
    with pytest.raises(WaitTimeoutError, match=r"s OFFLINE on|has not dropped s and loaded it again"):
        Cluster(changes).resets.wait(20)
