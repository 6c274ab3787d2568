"""Changes of files between listing and switch: versions of a file are never mixed."""

from __future__ import annotations

import pytest

from tests.integration.file_ingestion.scenes.scene import (
    APPEND,
    APPEND_SHARED,
    NO_SEGMENT,
    SYNC,
    Scene,
    whole,
)

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


def test_a_file_is_replaced_before_a_subtask_reads_it(scene: Scene) -> None:
    scene.begin(APPEND_SHARED, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2", "F3")
    held = scene.source.proxy.hold("GET", scene.source.of("F2"))
    with scene.polled(NO_SEGMENT, whole(["F1", "F2.1", "F3"])):
        scene.scheduler.start_trigger()
        held.wait_hit()
        scene.source.put("F2.1")
        held.lift()
        (run,) = scene.scheduler.what_ran()
        assert f"{scene.source.uri_of('F2')} was replaced after it was listed" in run.failed
        assert "1 of 3 files" in run.failed
        assert scene.scheduler.trigger().well["retry_count"] == 1
    scene.assert_serves("F1", "F2.1", "F3")
    assert scene.source.gets("F1", "F2", "F3") == [1, 2, 1]


def test_a_file_is_deleted_before_a_subtask_reads_it(scene: Scene) -> None:
    scene.begin(SYNC, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    held = scene.source.proxy.hold("GET", scene.source.of("F2"))
    with scene.polled(NO_SEGMENT, whole(["F1"])):
        scene.scheduler.start_trigger()
        held.wait_hit()
        scene.source.delete("F2")
        held.lift()
        (run,) = scene.scheduler.what_ran()
        assert f"{scene.source.uri_of('F2')} was removed after it was listed" in run.failed
        assert scene.scheduler.trigger().well["files"] == 1
    scene.assert_serves("F1")


def test_a_file_replaced_during_the_download_is_read_in_its_old_version(scene: Scene) -> None:
    """S3 sends the old version to its end; the next session ingests the new one."""
    scene.begin(SYNC)
    scene.source.put("F1")
    held = scene.source.proxy.hold_reply("GET", scene.source.of("F1"))
    with scene.polled(NO_SEGMENT, whole(["F1"]), whole(["F1.1"])):
        scene.scheduler.start_trigger()
        held.wait_hit()
        scene.source.put("F1.1")
        held.lift()
        (run,) = scene.scheduler.what_ran()
        assert run.well["outcome"] == "switched"
        scene.assert_serves("F1")
        assert scene.scheduler.trigger().well["replaced"] == 1
    scene.assert_serves("F1.1")


def test_a_connection_breaks_within_a_file(scene: Scene) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    scene.source.proxy.cut(60, "GET", scene.source.of("F2"), times=1)
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        assert scene.source.uri_of("F2") in scene.scheduler.trigger().failed
        assert scene.scheduler.trigger().well["retry_count"] == 1
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
        assert scene.scheduler.trigger().well["outcome"] == "switched"
    assert [rule.hits for rule in rules] == [1, 1, 1, 1]
    scene.assert_serves("F1", "F2")
    assert scene.staged() == []


def test_of_files_that_share_a_segment_one_is_deleted_and_one_changes_before_the_retry(scene: Scene) -> None:
    scene.begin(APPEND_SHARED, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2", "F3", "F4")
    (refused,) = scene.source.refuse("F4")
    with scene.polled(NO_SEGMENT, whole(["F2.1", "F3", "F4"])):
        assert "1 of 4 files" in scene.scheduler.trigger().failed
        scene.source.delete("F1")
        scene.source.put("F2.1")
        refused.lift()
        assert scene.scheduler.trigger().well["files"] == 3
    scene.assert_serves("F2.1", "F3", "F4")
    assert scene.source.gets("F1", "F2", "F3", "F4") == [1, 2, 2, 2]
