"""A switch ends when queries see the new segments, and does not fail because of a broker that is late."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import WaitTimeoutError
from controller_client.filestore.local import LocalStore
from controller_client.publishing import switch as module
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.publishing.switch import switch
from tests.unit.controller_client.publishing.lineage_server import TABLE, LineageServer
from tests.unit.controller_client.scripted_server import ScriptedServer
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

STAGED = [
    StagedSegment(name, f"file:///{name}", 1, rows, 10, 20, 0.1, "arrow")
    for name, rows in (("new_1", 5), ("new_2", 0))
]


@pytest.mark.parametrize("is_late", [False, True])
def test_brokers_are_waited_for(
    is_late: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[tuple[Collection[str], Collection[str]]] = []

    def wait(*_: object, present: Collection[str], absent: Collection[str], timeout_s: float) -> None:
        waits.append((present, absent))
        if is_late:
            raise WaitTimeoutError("the broker is behind")

    monkeypatch.setattr(module, "wait_routed", wait)
    with ScriptedServer() as server:
        lineage = LineageServer(server)
        lineage.segments = {segment.name: "ONLINE" for segment in STAGED}
        lineage.add_entry("COMPLETED", ["old"], list(lineage.segments))
        with ControllerClient(ControllerConfig(server.url), clock=FakeClock()) as client:
            done = switch(client, memory_store()[0], TABLE, STAGED, ["old"], LocalStore(), push_mode="TAR")
    assert done.replaced == 1
    # A segment without rows is never queried.
    assert waits == [(["new_1"], ("old",))]
    assert ("the broker is behind" in caplog.text) == is_late
