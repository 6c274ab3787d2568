"""Processes of this release next to later ones: a refusal changes nothing, and newer processes adapt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller_client.consumption import recovering
from controller_client.consumption.change_stream import change_stream
from controller_client.consumption.draining import drain
from controller_client.consumption.partition_report import PartitionReport
from controller_client.consumption.partitions import resume_partitions
from controller_client.consumption.pause_record import plugin_path
from controller_client.consumption.recovering import recover
from controller_client.consumption.resuming import resume
from controller_client.errors import FormatVersionError
from controller_client.rest.consumption import ConsumeFrom
from controller_client.rest.segments import SegmentsApi
from controller_client.zookeeper import ZNRecord
from minion_tasks.file_ingestion.session import records
from minion_tasks.file_ingestion.session.model import FileGroup
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, World, segment
from tests.unit.minion_tasks.samples import make_session, make_store


def _ignored(_line: str) -> None:
    """Ignores the steps of a recipe."""


COMMANDS: dict[str, Callable[[World], object]] = {
    "resume": lambda world: resume(world.control, wait=False),
    "resume from offsets": lambda world: resume(world.control, consume_from={0: 5}, wait=False),
    "recover": lambda world: recover(world.control, timeout_s=1, report=_ignored),
    "drain": lambda world: drain(world.control, until={0: 20}, timeout_s=1, report=_ignored),
    "change-stream": lambda world: change_stream(
        world.control, {"a": "b"}, consume_from=ConsumeFrom.SMALLEST, timeout_s=1, report=_ignored
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_that_a_later_release_has_paused_is_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    world.ideal({segment(0, 0): "ONLINE"}, paused=True)
    world.committed(0, 0, 0, 10)
    world.store.create(plugin_path(TABLE, "pause"), ZNRecord("pause", {"format": "2", "foreign": "false"}))
    resets: list[str] = []
    monkeypatch.setattr(recovering, "failed_segments", lambda _control: [segment(0, 0)])
    monkeypatch.setattr(SegmentsApi, "reset", lambda _self, _table, name: resets.append(name))
    before = dict(world.zookeeper.znodes)
    with pytest.raises(FormatVersionError, match=r"who paused a table .* is of format version 2"):
        COMMANDS[name](world)
    assert world.zookeeper.znodes == before
    assert resets == []


def test_partitions_that_a_server_of_a_later_release_holds_stay_paused() -> None:
    world = World()
    world.ideal({segment(0, 0): "CONSUMING"})
    state = ZNRecord.from_bytes(world.zookeeper.znodes[IDEAL_PATH][0])
    state.list_fields["pausedPartitions"] = ["0"]
    world.zookeeper.znodes[IDEAL_PATH] = (state.to_bytes(), 1)
    report = PartitionReport("Server_s_1", "session", {TABLE: {0: segment(0, 0)}}).to_record()
    report.simple_fields["format"] = "2"
    world.zookeeper.create("/c/PINOT_PLUGINS/servers/Server_s_1", report.to_bytes())
    before = dict(world.zookeeper.znodes)
    with pytest.raises(FormatVersionError, match=r"a server's report .* is of format version 2"):
        resume_partitions(world.control, [0])
    assert world.zookeeper.znodes == before


def test_a_minion_of_a_later_release_leaves_the_files_of_a_run_as_that_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions, store = make_store()
    sessions.create(make_session())
    sessions.create_group("s1", FileGroup(0, ()))

    def version_of(number: int) -> str:
        found = store.get(
            f"/MINION_TASK_METADATA/t_OFFLINE/FileIngestionTask/consistentPush/s1/groups/{number:05d}"
        )
        assert found is not None
        return found.record.simple_fields["format"]

    monkeypatch.setattr(records, "GROUP_FORMAT", replace(records.GROUP_FORMAT, version=2))
    sessions.change_group("s1", 0, lambda group: replace(group, empty_segment=True))
    sessions.create_group("s1", FileGroup(1, ()))
    assert (version_of(0), version_of(1)) == ("1", "2")
    monkeypatch.undo()
    assert sessions.group("s1", 0).empty_segment
