"""Modes beyond the scenes: emptied sources, foreign segments, changes of mode, limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.models import TableConfig
from controller_client.rest.capabilities import Capability
from tests.integration.file_ingestion.ingestion import NUMBERS_SCHEMA
from tests.integration.file_ingestion.scenes.scene import (
    APPEND,
    APPEND_SHARED,
    MODES,
    NO_ROW,
    NO_SEGMENT,
    SWAP,
    SYNC,
    Scene,
    whole,
)
from tests.integration.file_ingestion.scenes.source import ids_of
from tests.support.needs import Need, has
from tests.support.segments import build_segments
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


def _visible(scene: Scene) -> list[str]:
    return scene.table.client.segments.list(scene.table.with_type, exclude_replaced=True)


@pytest.mark.parametrize("mode", [pytest.param(SWAP, id="swap"), pytest.param(SYNC, id="sync", marks=FULL)])
def test_a_source_emptied_and_filled_again(scene: Scene, mode: dict[str, str]) -> None:
    """Pinot before 1.0 cannot replace segments with nothing, so the table has one empty segment meanwhile."""
    if has(Need.NAMED_SCHEMAS):
        scene.table.schema_name = f"{scene.table.name}_columns"
    scene.begin(mode)
    scene.source.put("F1", "F2")
    assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F1", "F2")
    scene.source.delete("F1", "F2")
    with scene.polled(whole(["F1", "F2"]), NO_ROW, whole(["F3"])):
        assert "would remove all" in scene.trigger().failed
        scene.assert_serves("F1", "F2")
        scene.register(mode, allowEmptySource="true")
        report = scene.trigger().report
        assert (report["outcome"], report["rows"], report["files"]) == ("switched", 0, 0)
        wait_for(lambda: scene.table.count() == 0, "no row")
        (marker,) = _visible(scene)
        assert scene.trigger().report["outcome"] == "nothing_new"
        assert _visible(scene) == [marker]
        scene.source.put("F3")
        assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F3")
    (segment,) = _visible(scene)
    assert segment != marker


def test_a_table_changes_from_append_to_sync_to_swap(scene: Scene, tmp_path: Path) -> None:
    """Only the swap replaces a segment that the task did not make."""
    at_once = {"replacedSegmentsRetentionPeriod": "0s"}
    scene.begin(APPEND_SHARED)
    tables, name = scene.table.client.tables, f"{scene.table.name}_foreign"
    rows = [{"id": n, "word": "F9", "amount": 1} for n in ids_of("F9")]
    config = tables.get(scene.table.with_type).to_json()
    schema = {"schemaName": scene.table.name, **NUMBERS_SCHEMA}
    (foreign,) = build_segments(tmp_path, schema, config, {name: rows})
    scene.table.client.segments.upload_tar(scene.table.with_type, foreign.tar)
    scene.assert_serves("F9")
    scene.source.put("F1", "F2")
    first, second, third = ["F9", "F1", "F2"], ["F9", "F1.1", "F2"], ["F1.1", "F3"]
    with scene.polled(whole(["F9"]), whole(first), whole(second), whole(third)):
        assert scene.trigger().report["segments"] == 1
        scene.assert_serves(*first)
        # The segment of F1 also contains F2, which is therefore read again.
        scene.register({**SYNC, **at_once})
        scene.source.put("F1.1")
        report = scene.trigger().report
        assert (report["files"], report["segments"], report["replaced_segments"]) == (2, 2, 1)
        scene.assert_serves(*second)
        scene.register({**SWAP, **at_once})
        scene.source.delete("F2")
        scene.source.put("F3")
        report = scene.trigger().report
        assert (report["files"], report["replaced_segments"]) == (2, 3)
    scene.assert_serves(*third)
    assert scene.source.gets("F1", "F2", "F3") == [3, 2, 1]
    if not has(Capability.LINEAGE_PROTECTED):
        wait_for(lambda: len(scene.table.segments()) == 1, "the replaced segments to be deleted")
    assert scene.trigger().report["outcome"] == "nothing_new"


@FULL
def test_an_unreadable_file_is_skipped_if_allowed(scene: Scene) -> None:
    scene.begin(APPEND, skipFileIfFailToInitReader="true", consistentPushMaxRetries="1")
    scene.source.put("F1")
    scene.source.put_text("F2", b"\x00\x01\x02\x03" * 100)
    with scene.polled(NO_SEGMENT, whole(["F1"]), whole(["F1", "F2", "F3"])):
        ran = scene.trigger()
        assert (ran.report["skipped_files"], scene.source.uri_of("F2") in ran.err) == (1, True)
        scene.assert_serves("F1")
        # A file that can be opened but has an invalid row is not skipped.
        scene.source.put_bad("F3")
        failed = scene.trigger().failed
        assert scene.source.uri_of("F3") in failed
        assert scene.source.uri_of("F2") not in failed
        scene.source.put("F2", "F3")
        report = scene.trigger().report
        assert (report["skipped_files"], report["retry_count"]) == (0, 1)
    scene.assert_serves("F1", "F2", "F3")


@FULL
def test_a_session_with_another_configuration_is_not_resumed(scene: Scene) -> None:
    scene.begin(APPEND, consistentPushMaxRetries="3")
    scene.source.put("F1", "F2")
    (refused,) = scene.source.refuse("F2")
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        assert scene.source.uri_of("F2") in scene.trigger().failed
        first = scene.latest().session_id
        scene.register(SYNC, consistentPushMaxRetries="3")
        refused.lift()
        report = scene.trigger().report
    assert (report["mode"], report["retry_count"], report["files"]) == ("sync", 0, 2)
    assert "configuration has changed" in (scene.sessions.load(first).message or "")
    scene.assert_serves("F1", "F2")
    assert scene.staged() == []


def test_exceeding_the_storage_quota_is_an_error_before_any_push(scene: Scene) -> None:
    scene.begin(APPEND, {"quota": {"storage": "1K"}}, consistentPushMaxRetries="1")
    scene.source.put("F1")
    with scene.polled(NO_SEGMENT, whole(["F1"])):
        run = scene.trigger()
        assert run.error_type == "QuotaExceededError"
        assert f"the storage quota of {scene.table.with_type} is 1,024 bytes" in run.failed
        assert (scene.table.segments(), scene.lineage()) == ([], [])
        scene.assert_session(scene.latest().session_id, "IN_PROGRESS", 0)
        tables = scene.table.client.tables
        config = tables.get(scene.table.with_type).to_json()
        raised = TableConfig.from_json({**config, "quota": {"storage": "1G"}})
        tables.update(raised, skip_task_validation=True)
        report = scene.trigger().report
    assert (report["outcome"], report["retry_count"]) == ("switched", 1)
    scene.assert_serves("F1")
    assert scene.source.gets("F1") == [1]


@FULL
@pytest.mark.parametrize(("period", "kept"), [("0s", 0), ("1h", 1)])
def test_replaced_segments_are_kept_for_their_period(scene: Scene, period: str, kept: int) -> None:
    scene.begin(SYNC, replacedSegmentsRetentionPeriod=period)
    scene.source.put("F1")
    assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F1")
    with scene.polled(whole(["F1"]), whole(["F1.1"])):
        scene.source.put("F1.1")
        assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F1.1")
    assert len(_visible(scene)) == 1
    kept = 1 if has(Capability.LINEAGE_PROTECTED) else kept
    wait_for(lambda: len(scene.table.segments()) == 1 + kept, f"{kept} replaced segments")
    assert scene.trigger().report["outcome"] == "nothing_new"
    assert len(scene.table.segments()) == 1 + kept


@FULL
def test_append_without_consistent_push_adds_good_files_and_retries_the_rest(scene: Scene) -> None:
    scene.begin({"taskMaxNumFilesPerTask": "1"})
    scene.source.put("F1", "F2", "F3")
    (refused,) = scene.source.refuse("F2")
    failed = scene.trigger().failed
    assert scene.source.uri_of("F2") in failed
    assert f"1 of 3 files could not be ingested; the others are in {scene.table.with_type}" in failed
    scene.assert_serves("F1", "F3")
    refused.lift()
    scene.source.put("F1.1")
    ran = scene.trigger()
    assert ran.report["files"] == 1
    assert f"changed since it was ingested; not read again: {scene.source.uri_of('F1')}" in ran.err
    assert ran.err.count("not read again: ") == 1
    scene.assert_serves("F1", "F2", "F3")
    assert scene.source.gets("F1", "F2", "F3") == [1, 2, 1]
    assert scene.lineage() == []


def test_sync_without_consistent_push_handles_each_file_separately(scene: Scene) -> None:
    scene.begin({"enableSync": "true"})
    scene.source.put("F1", "F2", "F3")
    (refused,) = scene.source.refuse("F2")
    assert scene.source.uri_of("F2") in scene.trigger().failed
    scene.assert_serves("F1", "F3")
    before = set(scene.table.segments())
    assert len(before) == 2
    refused.lift()
    scene.source.put("F1.1")
    scene.source.delete("F3")
    report = scene.trigger().report
    assert (report["files"], report["replaced_segments"]) == (2, 1)
    scene.assert_serves("F1.1", "F2")
    wait_for(lambda: len(scene.table.segments()) == 2, "the segment of F3 to go")
    # The segment of F1 was refreshed in place.
    assert len(before.intersection(scene.table.segments())) == 1
    assert scene.lineage() == []
    assert scene.source.gets("F1", "F2", "F3") == [2, 2, 1]


@FULL
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_a_file_without_rows_is_ingested_like_others(scene: Scene, mode: dict[str, str]) -> None:
    """It is read once, and other files are ingested as usual."""
    scene.begin(mode)
    scene.source.put_text("F1", "id,word,amount\n")
    with scene.polled(NO_SEGMENT, NO_ROW, whole(["F2"])):
        report = scene.trigger().report
        assert (report["outcome"], report["files"], report["rows"]) == ("switched", 1, 0)
        assert scene.trigger().report["outcome"] == "nothing_new"
        wait_for(
            lambda: scene.table.broker.query(f"select count(*) from {scene.table.name}").rows, "a segment"
        )
        scene.source.put("F2")
        assert scene.trigger().report["outcome"] == "switched"
    scene.assert_serves("F2")
    assert scene.trigger().report["outcome"] == "nothing_new"
    assert scene.source.gets("F1") == [2 if mode is SWAP else 1]
