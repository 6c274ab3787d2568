"""Changes of files between listing and switch: versions of a file are never mixed."""

from __future__ import annotations

import pytest

from tests.integration.file_ingestion.ingestion import ended
from tests.integration.file_ingestion.scenes.scene import (
    APPEND,
    APPEND_SHARED,
    NO_SEGMENT,
    SYNC,
    Scene,
    whole,
)
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


@FULL
def test_a_file_is_replaced_before_a_subtask_reads_it(scene: Scene) -> None:
    scene.begin(APPEND_SHARED, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2", "F3")
    held = scene.source.proxy.hold("GET", scene.source.of("F2"))
    with scene.polled(NO_SEGMENT, whole(["F1", "F2.1", "F3"])):
        running = scene.table.start()
        held.wait_hit()
        scene.source.put("F2.1")
        held.lift()
        run = ended(running)
        assert f"{scene.source.uri_of('F2')} was replaced after it was listed" in run.failed
        assert "1 of 3 files" in run.failed
        assert scene.trigger().report["retry_count"] == 1
    scene.assert_serves("F1", "F2.1", "F3")
    assert scene.source.gets("F1", "F2", "F3") == [1, 2, 1]


@FULL
def test_a_file_is_deleted_before_a_subtask_reads_it(scene: Scene) -> None:
    scene.begin(SYNC, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    held = scene.source.proxy.hold("GET", scene.source.of("F2"))
    with scene.polled(NO_SEGMENT, whole(["F1"])):
        running = scene.table.start()
        held.wait_hit()
        scene.source.delete("F2")
        held.lift()
        run = ended(running)
        assert f"{scene.source.uri_of('F2')} was removed after it was listed" in run.failed
        assert scene.trigger().report["files"] == 1
    scene.assert_serves("F1")


@FULL
def test_a_file_replaced_during_the_download_is_read_in_its_old_version(scene: Scene) -> None:
    """S3 sends the old version to its end; the next session ingests the new one."""
    scene.begin(SYNC)
    scene.source.put("F1")
    held = scene.source.proxy.hold_reply("GET", scene.source.of("F1"))
    with scene.polled(NO_SEGMENT, whole(["F1"]), whole(["F1.1"])):
        running = scene.table.start()
        held.wait_hit()
        scene.source.put("F1.1")
        held.lift()
        run = ended(running)
        assert run.report["outcome"] == "switched"
        scene.assert_serves("F1")
        assert scene.trigger().report["replaced_segments"] == 1
    scene.assert_serves("F1.1")


@FULL
def test_a_source_that_cannot_be_listed_changes_nothing(scene: Scene) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="1")
    scene.source.put("F1", "F2")
    proxy, bucket = scene.source.proxy, scene.source.bucket
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        proxy.answer(403, "LIST", bucket, times=1)
        refused = scene.trigger()
        assert (refused.error_type, scene.sessions.ids()) == ("SourceError", [])
        assert f"refused to list {scene.source.uri}" in refused.failed

        (rule,) = scene.source.refuse("F2")
        assert scene.source.uri_of("F2") in scene.trigger().failed
        session, staged = scene.latest(), scene.staged()
        rule.lift()
        proxy.answer(403, "LIST", bucket, times=1)
        assert scene.trigger().error_type == "SourceError"
        assert (scene.latest(), scene.staged()) == (session, staged)

        # S3 asks the client to slow down, and the client retries.
        proxy.answer(503, "LIST", bucket, times=2)
        report = scene.trigger().report
    assert (report["session"], report["retry_count"]) == (session.session_id, 1)
    scene.assert_serves("F1", "F2")
    assert scene.source.gets("F1", "F2") == [1, 2]


def test_requests_to_the_store_are_repeated_after_lost_replies(scene: Scene) -> None:
    scene.begin(APPEND)
    scene.source.put("F1", "F2")
    proxy = scene.source.proxy
    rules = [
        proxy.drop_reply("PUT", f"{scene.staging}/*"),
        proxy.drop_request("GET", scene.source.of("F1")),
        proxy.answer(500, "GET", scene.source.of("F2"), times=1),
        proxy.drop_reply("LIST", scene.source.bucket),
    ]
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        assert scene.trigger().report["outcome"] == "switched"
    assert [rule.hits for rule in rules] == [1, 1, 1, 1]
    scene.assert_serves("F1", "F2")
    assert scene.staged() == []
