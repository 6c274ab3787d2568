"""Scenes: a task with three retries, its first run FIT_1, and the retry FIT_Retry_1.

The table's rows show which versions of which files it contains, and the proxy in front of S3 counts the
reads. Without a cluster, ``tests/unit/minion_tasks/test_scenes.py`` plays them in all modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from minion_tasks.file_ingestion.session.model import FileStatus
from tests.integration.file_ingestion.scenes.scene import MODES, NO_SEGMENT, Polled, Scene, whole
from tests.support.faulty_http import Rule
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

FAIL = ("F3", "F4", "F5")


@dataclass
class Day:
    """A scene's day, up to its change after FIT_1.

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
        fit_1 = scene.trigger()
        assert fit_1.error_type == "FilesFailedError"
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

    def fit_retry_1(self) -> dict[str, Any]:
        """The retry resumes the session of FIT_1 and ends it."""
        report = self.scene.trigger().report
        assert report["outcome"] == "switched"
        assert (report["session"], report["retry_count"]) == (self.session, 1)
        self.scene.assert_session(self.session, "DONE", 1)
        assert self.scene.sessions.ids()[-1] == self.session
        assert self.scene.staged() == []
        return report


def in_all_modes(*engines: str, by_default: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """Run a scene with these engines and each mode, by default only with minions and these modes."""
    rows = [
        pytest.param(
            engine,
            mode,
            id=f"{engine}: {mode}",
            marks=() if engine == "minion" and mode in by_default else FULL,
        )
        for engine in engines
        for mode in MODES
    ]
    return pytest.mark.parametrize(("engine", "mode"), rows)


@pytest.fixture
def day(engine: str, mode: str, scene: Scene) -> Day:
    """The table before FIT_1. In sync and swap mode it contains F0, to be replaced: its file is gone."""
    scene.begin(MODES[mode], consistentPushMaxRetries="3", engine=engine)
    shared = mode in ("append, files share segments", "update", "swap")
    if mode in ("sync", "swap"):
        scene.source.put("F0")
    first = scene.trigger()
    if mode not in ("sync", "swap"):
        assert "no files in" in first.failed
        return Day(scene, mode, shared, NO_SEGMENT)
    assert first.report["files"] == 1
    scene.assert_serves("F0")
    scene.source.delete("F0")
    return Day(scene, mode, shared, whole(["F0"]))


@in_all_modes("minion", "spark", by_default=("append, files share segments", "sync"))
def test_a_retry_after_each_kind_of_change(day: Day) -> None:
    """All that scenes 2 to 6 change, at once; FIT_2 then ingests F1.1, except in append mode."""
    scene = day.scene
    # In a segment that it shares with a deleted file, F1 is read again, in its new version.
    retried = ("F1.1" if day.shared else "F1", "F3.1", "F5", "F6")
    after = retried if day.mode.startswith("append") else ("F1.1", "F3.1", "F5", "F6")
    with scene.polled(day.before, whole(retried), whole(after)):
        day.fit_1(bad="F3")
        day.put("F1.1", "F3.1", "F6")
        scene.source.delete("F2", "F4")
        day.repair()
        assert day.fit_retry_1()["files"] == 4
        scene.assert_serves(*retried)
        names = ("F1", "F2", "F3", "F4", "F5", "F6")
        assert scene.source.gets(*names) == [2 if day.shared else 1, 1, 2, 1, 2, 1]
        fit_2 = scene.trigger()
        assert fit_2.report["outcome"] == ("switched" if after != retried else "nothing_new")
        assert (scene.source.uri_of("F1") in fit_2.err) == ("F1" in after), fit_2.err
    scene.assert_serves(*after)


@pytest.mark.parametrize(
    ("put", "deleted", "after", "gets"),
    [
        pytest.param("F6", None, ("F1", "F2", "F3", "F4", "F5", "F6"), [1, 1, 2, 2, 2, 1], id="scene 2"),
        pytest.param("F3.1", None, ("F1", "F2", "F3.1", "F4", "F5"), [1, 1, 2, 2, 2, 0], id="scene 3"),
        pytest.param(None, "F1", ("F2", "F3", "F4", "F5"), [1, 1, 2, 2, 2, 0], id="scene 5"),
        pytest.param(None, "F3", ("F1", "F2", "F4", "F5"), [1, 1, 1, 2, 2, 0], id="scene 6"),
    ],
)
@in_all_modes("minion")
def test_one_file_is_added_rewritten_or_deleted(
    day: Day, put: str | None, deleted: str | None, after: tuple[str, ...], gets: list[int]
) -> None:
    scene = day.scene
    with scene.polled(day.before, whole(after)):
        day.fit_1(bad="F3" if put == "F3.1" else None)
        if put is not None:
            day.put(put)
        if deleted is not None:
            scene.source.delete(deleted)
        day.repair()
        assert day.fit_retry_1()["files"] == len(after)
    scene.assert_serves(*after)
    if deleted == "F1" and day.shared:  # its segment is dropped, so F2 is read again
        gets = [1, 2, *gets[2:]]
    assert scene.source.gets("F1", "F2", "F3", "F4", "F5", "F6") == gets


@in_all_modes("minion")
def test_scene_4_a_successful_file_is_rewritten(day: Day) -> None:
    """FIT_2 ingests F1.1 and other new files; append mode only reports it and keeps F1."""
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
        fit_2 = scene.trigger()
    scene.assert_serves(*second)
    report = fit_2.report
    assert (report["outcome"], report["retry_count"]) == ("switched", 0)
    assert report["session"] not in ("", day.session)
    scene.assert_session(report["session"], "DONE", 0)
    scene.assert_session(day.session, "DONE", 1)
    assert (
        scene.source.gets(*names, "F6")
        == {
            "append, one file per subtask": [1, 1, 2, 2, 2, 1],
            "append, files share segments": [1, 1, 2, 2, 2, 1],
            "update": [2, 2, 2, 2, 2, 1],
            "sync": [2, 1, 2, 2, 2, 1],
            "swap": [2, 2, 3, 3, 3, 1],
        }[day.mode]
    )
    assert (scene.source.uri_of("F1") in fit_2.err) == day.mode.startswith("append"), fit_2.err
    assert fit_2.err.count("not read again: ") == (1 if day.mode.startswith("append") else 0), fit_2.err
