"""Pinot's retention deletes the lineage entry of a switch before its run is continued."""

from __future__ import annotations

import pytest
import requests

from controller_client.rest.lineage import LineageState
from minion_tasks.file_ingestion.session.model import SessionState
from tests.faults.file_ingestion.killing import kill_when
from tests.integration.file_ingestion.ingestion import start_pinotctl
from tests.integration.file_ingestion.scenes.scene import APPEND, Scene, whole
from tests.support.faulty_http import FaultyHttp
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


@FULL
def test_the_next_run_still_ends_the_session(scene: Scene, controller_proxy: FaultyHttp) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="2")
    scene.source.put("F1")
    assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F1")
    scene.source.put("F2")
    with scene.polled(whole(["F1"]), whole(["F1", "F2"])):
        held = controller_proxy.hold_reply("POST", f"segments/{scene.table.name}/endReplaceSegments")
        run = start_pinotctl(controller_proxy.url, "task", "run", scene.table.name)
        kill_when(run, lambda: held.was_hit, "the entry is completed")
        killed, entry = scene.latest(), scene.lineage()[-1]
        assert (killed.state, entry.state) == (SessionState.SWITCH, LineageState.COMPLETED)
        _run_retention(scene)
        wait_for(lambda: scene.lineage() == [], "the retention to remove the entries")
        report = scene.trigger().report
    assert (report["session"], report["outcome"]) == (killed.session_id, "switch_finished")
    assert scene.latest().state is SessionState.DONE
    scene.assert_serves("F1", "F2")
    assert scene.staged() == []


def _run_retention(scene: Scene) -> None:
    asked = {"taskname": "RetentionManager", "tableName": scene.table.name, "type": "OFFLINE"}
    requests.get(
        f"{scene.pinot.controller_url}/periodictask/run", params=asked, timeout=60
    ).raise_for_status()
