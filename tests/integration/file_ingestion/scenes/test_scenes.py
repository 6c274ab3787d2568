"""Six scenes: a task every four hours with three retries, FIT_1 at 12:00, FIT_Retry_1 at 16:00.

The table's rows show which versions of which files it contains, and the proxy in front of S3 counts the
reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from minion_tasks.file_ingestion.session.model import FileStatus
from tests.integration.file_ingestion.scenes.rows import MODES, EngineAndMode
from tests.integration.file_ingestion.scenes.scene import NO_SEGMENT, Polled, Scene, whole
from tests.integration.file_ingestion.scenes.steered import Triggered
from tests.support.faulty_http import Rule

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

FAIL = ("F3", "F4", "F5")


@dataclass
class Day:
    """A scene's day, up to its change at 15:00.

    Attributes:
        session: Of FIT_1.
        shared: Whether files share segments.
    """

    scene: Scene
    mode: str
    shared: bool
    before: Polled
    session: str = ""
    refused: tuple[Rule, ...] = ()

    def put(self, *versions: str) -> None:
        self.scene.source.put(*versions)

    def fit_1(self, *, bad: str | None = None) -> None:
        """F1 and F2 are ingested, F3, F4 and F5 fail; queries see none of them.

        Args:
            bad: The one of them that fails since its content does not fit.
        """
        scene = self.scene
        segments = scene.table.segments()
        lineage = scene.lineage()
        self.put("F1", "F2", "F3", "F4", "F5")
        if bad is not None:
            scene.source.put_bad(bad)
        self.refused = tuple(scene.source.refuse(*(name for name in FAIL if name != bad)))
        (fit_1,) = scene.scheduler.run_until("15:00")
        assert (fit_1.at, fit_1.error_type) == ("12:00", "FilesFailedError")
        for name in FAIL:
            assert scene.source.uri_of(name) in fit_1.failed
        for text in ("3 of 5 files", f"{scene.table.with_type} is unchanged", "(retries left: 3)"):
            assert text in fit_1.failed
        assert scene.source.uri_of("F1") not in fit_1.failed
        self.session = scene.latest().session_id
        assert not scene.latest().abandoned
        scene.assert_session(self.session, "IN_PROGRESS", 0)
        staged, failed = FileStatus.STAGED, FileStatus.FAILED
        assert scene.statuses() == {"F1": staged, "F2": staged, **dict.fromkeys(FAIL, failed)}
        assert scene.source.gets("F1", "F2", *FAIL) == [1, 1, 1, 1, 1]
        assert scene.table.segments() == segments
        # Nothing new or changed; the controller may remove old entries at any time.
        assert set(scene.lineage()) <= set(lineage)
        assert len(scene.staged()) == 2 * (1 if self.shared else 2)

    def repair(self) -> None:
        for rule in self.refused:
            rule.lift()

    def fit_retry_1(self) -> Triggered:
        """The retry at 16:00 resumes the session of FIT_1 and ends it."""
        (retry,) = self.scene.scheduler.run_until("16:00")
        report = retry.well
        assert (retry.at, report["outcome"]) == ("16:00", "switched")
        assert (report["session_id"], report["retry_count"]) == (self.session, 1)
        self.scene.assert_session(self.session, "DONE", 1)
        assert self.scene.sessions.ids()[-1] == self.session
        assert self.scene.staged() == []
        return retry


@pytest.fixture
def day(engine_and_mode: EngineAndMode, scene: Scene) -> Day:
    """The table at 11:00. In sync and swap mode it contains F0, which must be replaced: its file is gone."""
    mode = engine_and_mode.mode
    scene.begin(MODES[mode], consistentPushMaxRetries="3", engine=engine_and_mode.engine)
    shared = mode in ("append, files share segments", "swap")
    if mode in ("sync", "swap"):
        scene.source.put("F0")
    (first,) = scene.scheduler.run_until("11:00")
    assert first.at == "08:00"
    if mode not in ("sync", "swap"):
        assert "no files in" in first.failed
        return Day(scene, mode, shared, NO_SEGMENT)
    assert first.well["files"] == 1
    scene.assert_serves("F0")
    scene.source.delete("F0")
    return Day(scene, mode, shared, whole(["F0"]))


def test_scene_1_initial_ingestion_attempt(day: Day) -> None:
    with day.scene.polled(day.before):
        day.fit_1()


def test_scene_2_a_new_file_is_added(day: Day) -> None:
    scene, after = day.scene, ("F1", "F2", "F3", "F4", "F5", "F6")
    with scene.polled(day.before, whole(after)):
        day.fit_1()
        day.put("F6")
        day.repair()
        assert day.fit_retry_1().well["files"] == 6
    scene.assert_serves(*after)
    assert scene.source.gets(*after) == [1, 1, 2, 2, 2, 1]


def test_scene_3_a_failed_file_is_rewritten(day: Day) -> None:
    scene, after = day.scene, ("F1", "F2", "F3.1", "F4", "F5")
    with scene.polled(day.before, whole(after)):
        day.fit_1(bad="F3")
        day.put("F3.1")
        day.repair()
        day.fit_retry_1()
    scene.assert_serves(*after)
    assert scene.source.gets("F1", "F2", "F3", "F4", "F5") == [1, 1, 2, 2, 2]


def test_scene_4_a_successful_file_is_rewritten(day: Day) -> None:
    """FIT_2 at 20:00 ingests F1.1 and other new files; append mode only reports it and keeps F1."""
    scene, names = day.scene, ("F1", "F2", "F3", "F4", "F5")
    second = (*names, "F6") if day.mode.startswith("append") else ("F1.1", *names[1:], "F6")
    with scene.polled(day.before, whole(names), whole(second)):
        day.fit_1()
        day.put("F1.1")
        day.repair()
        day.fit_retry_1()
        scene.assert_serves(*names)
        assert scene.source.gets(*names) == [1, 1, 2, 2, 2]
        day.put("F6")
        (fit_2,) = scene.scheduler.run_until("20:00")
    scene.assert_serves(*second)
    report = fit_2.well
    assert (fit_2.at, report["outcome"], report["retry_count"]) == ("20:00", "switched", 0)
    assert report["session_id"] not in ("", day.session)
    scene.assert_session(report["session_id"], "DONE", 0)
    scene.assert_session(day.session, "DONE", 1)
    read, changed = {
        "append, one file per subtask": ([1, 1, 2, 2, 2, 1], [scene.source.uri_of("F1")]),
        "append, files share segments": ([1, 1, 2, 2, 2, 1], [scene.source.uri_of("F1")]),
        "sync": ([2, 1, 2, 2, 2, 1], []),
        "swap": ([2, 2, 3, 3, 3, 1], []),
    }[day.mode]
    assert scene.source.gets(*names, "F6") == read
    assert list(report["changed"]) == changed


def test_scene_5_a_successful_file_is_deleted(day: Day) -> None:
    """The segment of F1 is dropped; if F2 shares it, F2 is read again."""
    scene, after = day.scene, ("F2", "F3", "F4", "F5")
    with scene.polled(day.before, whole(after)):
        day.fit_1()
        scene.source.delete("F1")
        day.repair()
        assert day.fit_retry_1().well["files"] == 4
    scene.assert_serves(*after)
    assert scene.source.gets("F1", *after) == [1, 2 if day.shared else 1, 2, 2, 2]


def test_scene_6_a_failed_file_is_deleted(day: Day) -> None:
    scene, after = day.scene, ("F1", "F2", "F4", "F5")
    with scene.polled(day.before, whole(after)):
        day.fit_1()
        scene.source.delete("F3")
        day.repair()
        assert day.fit_retry_1().well["files"] == 4
    scene.assert_serves(*after)
    assert scene.source.gets("F1", "F2", "F3", "F4", "F5") == [1, 1, 1, 2, 2]
