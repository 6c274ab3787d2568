"""Clearing in the state SWITCH: nothing is left of it, and the next trigger ingests every row once.

By the parameter, which counts with the next trigger, or by ``pinotctl task session clear``, at once.
"""

from __future__ import annotations

import pytest

from controller_client.rest.lineage import LineageState
from minion_tasks.file_ingestion.session.model import SessionState
from tests.faults.file_ingestion.killing import kill_when
from tests.integration.file_ingestion.ingestion import Pinotctl, start_pinotctl
from tests.integration.file_ingestion.scenes.scene import SYNC as SCENES_SYNC
from tests.integration.file_ingestion.scenes.scene import Scene, whole
from tests.support.faulty_http import FaultyHttp
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.s3]

# Without checks of columns, only the push reads what is staged.
SYNC = {**SCENES_SYNC, "checks.mayBecomeEmpty": "*"}
CLEAR = {"clearConsistentPushState": "true"}


@pytest.fixture
def loaded(scene: Scene) -> Scene:
    """A table in sync mode with F1 and F2."""
    scene.begin(SYNC)
    scene.source.put("F1", "F2")
    assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F1", "F2")
    return scene


def test_switch_left_open_by_a_killed_run(loaded: Scene) -> None:
    """The segments to be replaced stay queryable; the new ones, one of which was pushed, are deleted."""
    scene = loaded
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
        scene.register({**SYNC, **CLEAR})
        report = scene.trigger().report
    assert (report["outcome"], report["files"], report["replaced_segments"]) == ("switched", 2, 1)
    assert scene.sessions.ids() == [report["session"]]
    assert report["session"] != killed.session_id
    states = {found.entry_id: found.state for found in scene.lineage()}
    assert states[entry.entry_id] is LineageState.REVERTED
    assert set(entry.segments_to).isdisjoint(scene.table.segments())
    scene.assert_serves(*new)
    assert scene.staged() == []


def test_failed_switch(loaded: Scene, pinotctl: Pinotctl) -> None:
    """After clearing by the command, the table serves its old segments until the next trigger."""
    scene = loaded
    segments = scene.table.segments()
    scene.source.put("F1.1", "F3")
    old, new = ("F1", "F2"), ("F1.1", "F2", "F3")
    with scene.polled(whole(old), whole(new)):
        refused = scene.source.proxy.answer(403, "GET", f"{scene.staging}/*.metadata.tar.gz", times=1)
        assert scene.trigger().error_type == "SourceError"
        assert refused.hits == 1
        entry = scene.lineage()[-1]
        assert (scene.latest().state, entry.state) == (SessionState.SWITCH, LineageState.IN_PROGRESS)
        pinotctl("session", "clear", scene.table.name, "--yes")
        assert (scene.sessions.ids(), scene.staged()) == ([], [])
        assert scene.lineage()[-1].state is LineageState.REVERTED
        assert scene.table.segments() == segments
        scene.assert_serves(*old)
        assert scene.trigger().report["files"] == 2
    scene.assert_serves(*new)
    assert scene.source.gets("F1", "F2", "F3") == [3, 1, 2]


def test_switch_completed_before_the_run_was_killed(loaded: Scene, controller_proxy: FaultyHttp) -> None:
    """The controller applied the last step of the switch without the run's knowledge: the switch stays."""
    scene = loaded
    scene.source.put("F1.1")
    old, new = ("F1", "F2"), ("F1.1", "F2")
    with scene.polled(whole(old), whole(new)):
        held = controller_proxy.hold_reply("POST", f"segments/{scene.table.name}/endReplaceSegments")
        run = start_pinotctl(controller_proxy.url, "task", "run", scene.table.name)
        kill_when(run, lambda: held.was_hit, "the entry is completed")
        killed, entry = scene.latest(), scene.lineage()[-1]
        assert (killed.state, entry.state) == (SessionState.SWITCH, LineageState.COMPLETED)
        scene.register({**SYNC, **CLEAR})
        report = scene.trigger().report
    assert report["outcome"] == "nothing_new"
    assert scene.sessions.ids() == []
    assert scene.lineage()[-1] == entry
    scene.assert_serves(*new)
    assert scene.source.gets("F1", "F2") == [2, 1]
    assert scene.staged() == []
