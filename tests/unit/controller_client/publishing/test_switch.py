"""A switch ends when queries see the new segments, and does not fail because of a broker that is late."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import DataError, UnsafeDeleteError, WaitTimeoutError
from controller_client.filestore.local import LocalStore
from controller_client.publishing import switch as module
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.publishing.switch import push_one_by_one, switch
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


def test_without_consistent_push_segments_of_another_replacement_are_not_deleted() -> None:
    with ScriptedServer() as server:
        lineage = LineageServer(server)
        lineage.segments = {"old": "ONLINE", "other": "ONLINE"}
        lineage.add_entry("IN_PROGRESS", ["old"], ["other"])
        with ControllerClient(ControllerConfig(server.url), clock=FakeClock()) as client:
            with pytest.raises(UnsafeDeleteError, match=r"(?s)replaces old: .*DeleteRisk\.OPEN_REPLACEMENT"):
                push_one_by_one(
                    client, memory_store()[0], TABLE, STAGED, ["old"], LocalStore(), push_mode="TAR"
                )
            assert lineage.calls == [], "nothing was pushed"
            # What an earlier replacement of its own has hidden or added goes without a question.
            lineage.segments["older"] = "ONLINE"
            lineage.entries.clear()
            lineage.add_entry("COMPLETED", ["older"], ["old"])
            done = push_one_by_one(
                client, memory_store()[0], TABLE, [], ["old"], LocalStore(), push_mode="TAR"
            )
    assert (done.replaced, lineage.calls) == (1, ["delete"])
    assert lineage.segments.keys() == {"other", "older"}


def test_a_segment_name_that_is_a_path_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "staged.tar.gz").write_text("a segment")
    present = tmp_path / "present.tar.gz"
    present.write_text("not to be touched")
    named = replace(STAGED[0], name=str(tmp_path / "present"), stem_uri=f"file://{tmp_path}/staged")
    with ScriptedServer() as server:
        lineage = LineageServer(server)
        with (
            ControllerClient(ControllerConfig(server.url), clock=FakeClock()) as client,
            pytest.raises(DataError, match="cannot be used as a file name"),
        ):
            push_one_by_one(client, memory_store()[0], TABLE, [named], [], LocalStore(), push_mode="TAR")
    assert lineage.calls == []
    assert present.read_text() == "not to be touched"
