"""Clearing in each state of a session: nothing is left of it, and the next trigger ingests every row once.

By the parameter, which counts with the next trigger, or by ``pinotctl task session clear``, at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from controller_client.cli import cli
from controller_client.filestore import FileInfo
from controller_client.rest.lineage import LineageState
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    IngestionMode,
    Session,
    SessionState,
)
from tests.faults.file_ingestion.killing import kill_when
from tests.integration.file_ingestion.ingestion import start_pinotctl
from tests.integration.file_ingestion.scenes.scene import APPEND, NO_SEGMENT, SYNC, Scene, whole
from tests.support.faulty_http import FaultyHttp
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

CLEAR = {"clearConsistentPushState": "true"}
BY_PARAMETER = ["parameter", pytest.param("command", marks=FULL)]
BY_COMMAND = [pytest.param("parameter", marks=FULL), "command"]


def clear(scene: Scene, how: str, mode: dict[str, str], **more: str) -> None:
    if how == "parameter":
        scene.register({**mode, **CLEAR}, **more)
        return
    env = {"PINOT_CONTROLLER_URL": scene.pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}
    arguments = ["task", "session", "clear", scene.table.name, "--yes"]
    result = CliRunner().invoke(cli, arguments, env=env)
    assert result.exit_code == 0, result.output
    assert (scene.sessions.ids(), scene.staged()) == ([], [])


@pytest.fixture
def controller_proxy(scene: Scene) -> Iterator[FaultyHttp]:
    with FaultyHttp(scene.pinot.controller_url) as proxy:
        yield proxy


@pytest.mark.parametrize("how", BY_PARAMETER)
def test_init_with_an_incomplete_plan(scene: Scene, how: str) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    half = scene.sessions.create(
        Session(
            session_id="20240601T000000000-abcdef",
            table=scene.table.with_type,
            state=SessionState.INIT,
            created_ms=1,
            updated_ms=1,
            owner="a killed run",
            mode=IngestionMode.APPEND,
            atomic=True,
            source=scene.source.uri,
            staging_uri=f"{scene.staging_uri}/20240601T000000000-abcdef",
        )
    )
    entry = FileEntry(0, FileInfo(scene.source.uri_of("F1"), 1, 1, "none"))
    scene.sessions.create_group(half.session_id, FileGroup(0, (entry,)))
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        clear(scene, how, APPEND, consistentPushMaxRetries="3")
        report = scene.scheduler.trigger().well
    assert scene.sessions.ids() == [report["session_id"]]
    assert (report["files"], report["retry_count"]) == (2, 0)
    scene.assert_serves("F1", "F2")


@pytest.mark.parametrize("how", BY_COMMAND)
def test_in_progress_with_retries_left(scene: Scene, how: str) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    (refused,) = scene.source.refuse("F2")
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        assert scene.source.uri_of("F2") in scene.scheduler.trigger().failed
        first = scene.latest()
        assert (first.state, len(scene.staged())) == (SessionState.IN_PROGRESS, 2)
        refused.lift()
        clear(scene, how, APPEND, consistentPushMaxRetries="3")
        report = scene.scheduler.trigger().well
    assert scene.sessions.ids() == [report["session_id"]]
    assert report["session_id"] != first.session_id
    assert (report["files"], report["retry_count"]) == (2, 0)
    scene.assert_serves("F1", "F2")
    assert scene.source.gets("F1", "F2") == [2, 2]
    assert scene.staged() == []


def test_switch_left_open_by_a_killed_run(scene: Scene) -> None:
    """The segments to be replaced stay queryable; the new ones, one of which was pushed, are deleted."""
    scene.begin(SYNC)
    scene.source.put("F1", "F2")
    scene.scheduler.trigger().assert_well()
    scene.assert_serves("F1", "F2")
    scene.source.put("F1.1", "F3")
    old, new = ("F1", "F2"), ("F1.1", "F2", "F3")
    with scene.polled(whole(old), whole(new)):
        held = scene.source.proxy.hold("GET", f"{scene.staging}/*.metadata.tar.gz")

        def half_pushed() -> bool:
            return held.was_hit and len(scene.table.segments()) == 3

        kill_when(scene.table.start(), half_pushed, "one of two segments is pushed")
        held.lift()
        killed, entry = scene.latest(), scene.lineage()[-1]
        assert (killed.state, entry.state) == (SessionState.SWITCH, LineageState.IN_PROGRESS)
        clear(scene, "parameter", SYNC)
        report = scene.scheduler.trigger().well
    assert (report["outcome"], report["files"], report["replaced"]) == ("switched", 2, 1)
    assert scene.sessions.ids() == [report["session_id"]]
    assert report["session_id"] != killed.session_id
    states = {found.entry_id: found.state for found in scene.lineage()}
    assert states[entry.entry_id] is LineageState.REVERTED
    assert set(entry.segments_to).isdisjoint(scene.table.segments())
    scene.assert_serves(*new)
    assert scene.staged() == []


def test_failed_switch(scene: Scene) -> None:
    """After clearing by the command, the table serves its old segments until the next trigger."""
    scene.begin(SYNC)
    scene.source.put("F1", "F2")
    scene.scheduler.trigger().assert_well()
    scene.assert_serves("F1", "F2")
    segments = scene.table.segments()
    scene.source.put("F1.1", "F3")
    old, new = ("F1", "F2"), ("F1.1", "F2", "F3")
    with scene.polled(whole(old), whole(new)):
        refused = scene.source.proxy.answer(403, "GET", f"{scene.staging}/*.metadata.tar.gz", times=1)
        assert scene.scheduler.trigger().error_type == "SourceError"
        assert refused.hits == 1
        entry = scene.lineage()[-1]
        assert (scene.latest().state, entry.state) == (SessionState.SWITCH, LineageState.IN_PROGRESS)
        clear(scene, "command", SYNC)
        assert scene.lineage()[-1].state is LineageState.REVERTED
        assert scene.table.segments() == segments
        scene.assert_serves(*old)
        assert scene.scheduler.trigger().well["files"] == 2
    scene.assert_serves(*new)
    assert scene.source.gets("F1", "F2", "F3") == [3, 1, 2]


def test_switch_completed_before_the_run_was_killed(scene: Scene, controller_proxy: FaultyHttp) -> None:
    """The controller applied the last step of the switch without the run's knowledge: the switch stays."""
    scene.begin(SYNC)
    scene.source.put("F1", "F2")
    scene.scheduler.trigger().assert_well()
    scene.assert_serves("F1", "F2")
    scene.source.put("F1.1")
    old, new = ("F1", "F2"), ("F1.1", "F2")
    with scene.polled(whole(old), whole(new)):
        held = controller_proxy.hold_reply("POST", f"segments/{scene.table.name}/endReplaceSegments")
        run = start_pinotctl(controller_proxy.url, "task", "run", scene.table.name)
        kill_when(run, lambda: held.was_hit, "the entry is completed")
        killed, entry = scene.latest(), scene.lineage()[-1]
        assert (killed.state, entry.state) == (SessionState.SWITCH, LineageState.COMPLETED)
        clear(scene, "parameter", SYNC)
        report = scene.scheduler.trigger().well
    assert report["outcome"] == "nothing_new"
    assert scene.sessions.ids() == []
    assert scene.lineage()[-1] == entry
    scene.assert_serves(*new)
    assert scene.source.gets("F1", "F2") == [2, 1]
    assert scene.staged() == []


@pytest.mark.parametrize("how", BY_PARAMETER)
def test_done(scene: Scene, how: str) -> None:
    scene.begin(APPEND)
    scene.source.put("F1")
    scene.scheduler.trigger().assert_well()
    scene.assert_serves("F1")
    segments = scene.table.segments()
    with scene.polled(whole(["F1"]), whole(["F1", "F2"])):
        clear(scene, how, APPEND)
        assert scene.scheduler.trigger().well["outcome"] == "nothing_new"
        assert scene.sessions.ids() == []
        assert scene.table.segments() == segments
        # Without the parameter, the next trigger is like any other.
        scene.register(APPEND)
        scene.source.put("F2")
        assert scene.scheduler.trigger().well["files"] == 1
    scene.assert_serves("F1", "F2")
    assert scene.source.gets("F1", "F2") == [1, 1]
