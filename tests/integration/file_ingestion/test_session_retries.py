"""When a session is resumed or discarded, and that there is only one at a time."""

from __future__ import annotations

import pytest

from tests.integration.file_ingestion.scenes.scene import APPEND, NO_SEGMENT, SWAP, SYNC, Scene, whole
from tests.integration.file_ingestion.scenes.steered import MADE, SteeredScheduler, Triggered
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


def test_when_all_retries_are_exhausted_everything_is_read_again(scene: Scene) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="1")
    scene.source.put("F1", "F2", "F3")
    (refused,) = scene.source.refuse("F3")
    with scene.polled(NO_SEGMENT, whole(["F1", "F2", "F3"])):
        assert "(retries left: 1)" in scene.scheduler.trigger().failed
        first = scene.latest().session_id
        assert "it starts over" in scene.scheduler.trigger().failed
        scene.assert_session(first, "IN_PROGRESS", 1)
        assert scene.latest().abandoned
        assert "its retries are exhausted" in (scene.latest().message or "")
        assert scene.staged() == []
        assert scene.source.gets("F1", "F2", "F3") == [1, 1, 2]
        refused.lift()
        report = scene.scheduler.trigger().well
    assert (report["outcome"], report["files"], report["retry_count"]) == ("switched", 3, 0)
    assert report["session_id"] != first
    scene.assert_session(report["session_id"], "DONE", 0)
    scene.assert_serves("F1", "F2", "F3")
    assert scene.source.gets("F1", "F2", "F3") == [2, 2, 3]


def test_without_retries_staged_files_are_discarded(scene: Scene) -> None:
    scene.begin(APPEND)
    scene.source.put("F1", "F2")
    (refused,) = scene.source.refuse("F2")
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        assert scene.source.uri_of("F2") in scene.scheduler.trigger().failed
        assert scene.latest().abandoned
        assert scene.staged() == []
        assert scene.table.segments() == []
        refused.lift()
        report = scene.scheduler.trigger().well
    assert (report["files"], report["retry_count"]) == (2, 0)
    scene.assert_serves("F1", "F2")
    assert scene.source.gets("F1", "F2") == [2, 2]


def test_a_session_with_another_configuration_is_not_resumed(scene: Scene) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    (refused,) = scene.source.refuse("F2")
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        scene.scheduler.trigger().assert_failed()
        first = scene.latest().session_id
        scene.register(SYNC, consistentPushMaxRetries="3")
        refused.lift()
        report = scene.scheduler.trigger().well
    assert (report["mode"], report["retry_count"], report["files"]) == ("sync", 0, 2)
    assert "configuration has changed" in (scene.sessions.load(first).message or "")
    scene.assert_serves("F1", "F2")
    assert scene.staged() == []


def test_a_source_that_cannot_be_listed_changes_nothing(scene: Scene) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="1")
    scene.source.put("F1", "F2")
    proxy, bucket = scene.source.proxy, scene.source.bucket
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        proxy.answer(403, "LIST", bucket, times=1)
        refused = scene.scheduler.trigger()
        assert (refused.error_type, scene.sessions.ids()) == ("SourceError", [])
        assert f"refused to list {scene.source.uri}" in refused.failed

        (rule,) = scene.source.refuse("F2")
        assert scene.source.uri_of("F2") in scene.scheduler.trigger().failed
        session, staged = scene.latest(), scene.staged()
        rule.lift()
        proxy.answer(403, "LIST", bucket, times=1)
        assert scene.scheduler.trigger().error_type == "SourceError"
        assert (scene.latest(), scene.staged()) == (session, staged)

        # S3 asks the client to slow down, and the client retries.
        proxy.answer(503, "LIST", bucket, times=2)
        report = scene.scheduler.trigger().well
    assert (report["session_id"], report["retry_count"]) == (session.session_id, 1)
    scene.assert_serves("F1", "F2")
    assert scene.source.gets("F1", "F2") == [1, 2]


def test_a_trigger_waits_for_the_session_in_progress(
    scene: Scene, second_scheduler: SteeredScheduler
) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="3")
    second_scheduler.begin(scene.table.with_type, alongside=scene.scheduler)
    scene.source.put("F1")
    held = scene.source.proxy.hold("GET", scene.source.of("F1"))
    with scene.polled(NO_SEGMENT, whole(["F1"])):
        scene.scheduler.start_trigger()
        held.wait_hit()
        runs = second_scheduler.run_until("12:00", lock_wait_s=0.2)
        assert [run.error_type or run.well["outcome"] for run in runs] == [MADE, "LockHeldError"]
        # The trigger of 12:00 stays due, and now waits long enough.
        second_scheduler.start_step()
        held.lift()
        (first,) = scene.scheduler.what_ran()
        (second,) = second_scheduler.what_ran()
    assert first.well["outcome"] == "switched"
    assert second.well["outcome"] == "nothing_new"
    assert scene.sessions.ids() == [first.well["session_id"]]
    scene.assert_session(first.well["session_id"], "DONE", 0)
    scene.assert_serves("F1")
    assert scene.source.gets("F1") == [1]


def test_two_schedulers_fire_one_trigger(scene: Scene, second_scheduler: SteeredScheduler) -> None:
    files = ("F1", "F2", "F3", "F4")
    scene.begin(APPEND, consistentPushMaxRetries="2")
    second_scheduler.begin(scene.table.with_type, alongside=scene.scheduler)
    scene.source.put(*files)

    def both() -> list[Triggered]:
        scene.scheduler.start_trigger()
        second_scheduler.start_trigger()
        return [*scene.scheduler.what_ran(), *second_scheduler.what_ran()]

    with scene.polled(NO_SEGMENT, whole(files)):
        (refused,) = scene.source.refuse("F2")
        failed = both()
        assert sorted(run.error_type or run.well["outcome"] for run in failed) == ["FilesFailedError", MADE]
        # Neither the failed run nor the other scheduler has used a retry.
        scene.assert_session(scene.latest().session_id, "IN_PROGRESS", 0)
        refused.lift()
        runs = both()
    assert sorted(run.well["outcome"] for run in runs) == [MADE, "switched"]
    scene.assert_session(scene.latest().session_id, "DONE", 1)
    assert len(scene.sessions.ids()) == 1
    scene.assert_serves(*files)
    assert scene.source.gets(*files) == [1, 2, 1, 1]


def test_a_failed_switch_is_finished_by_the_next_trigger(scene: Scene) -> None:
    scene.begin(SWAP)
    scene.source.put("F1")
    scene.scheduler.trigger().assert_well()
    scene.assert_serves("F1")
    scene.source.delete("F1")
    scene.source.put("F2", "F3")
    with scene.polled(whole(["F1"]), whole(["F2", "F3"])):
        scene.source.proxy.answer(403, "GET", f"{scene.staging}/*.metadata.tar.gz", times=1)
        assert scene.scheduler.trigger().error_type == "SourceError"
        session = scene.latest().session_id
        scene.assert_session(session, "SWITCH", 0)
        # Files written meanwhile are ingested by the next session.
        scene.source.put("F2.1")
        report = scene.scheduler.trigger().well
    assert (report["outcome"], report["session_id"]) == ("switch_finished", session)
    scene.assert_session(session, "DONE", 0)
    scene.assert_serves("F2", "F3")
    assert scene.source.gets("F2", "F3") == [1, 1]


@pytest.mark.parametrize("mode", [pytest.param(SYNC, id="sync", marks=FULL), pytest.param(SWAP, id="swap")])
def test_the_source_matches_the_table_again_before_the_retry(scene: Scene, mode: dict[str, str]) -> None:
    """F1 is in the table and deleted when the session starts; once restored, it must not be removed."""
    scene.begin(mode, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    scene.scheduler.trigger().assert_well()
    scene.assert_serves("F1", "F2")
    with scene.polled(whole(["F1", "F2"])):
        scene.source.delete("F1")
        scene.source.put("F3")
        (refused,) = scene.source.refuse("F3")
        assert scene.source.uri_of("F3") in scene.scheduler.trigger().failed
        scene.source.put("F1")
        scene.source.delete("F3")
        refused.lift()
        scene.scheduler.trigger().assert_well()
        scene.assert_serves("F1", "F2")
        assert scene.scheduler.trigger().well["outcome"] == "nothing_new"
    scene.assert_serves("F1", "F2")
    assert scene.staged() == []


def test_the_last_two_sessions_are_kept(scene: Scene) -> None:
    scene.begin(APPEND)
    ids = []
    for name in ("F1", "F2", "F3"):
        scene.source.put(name)
        ids.append(scene.scheduler.trigger().well["session_id"])
    assert scene.sessions.ids() == ids[1:]
