"""The seed's example, scene by scene, and its key points; without Pinot, see ``session_world``."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controller_client.errors import ConflictError, PinotPluginError, SetupError, SourceError
from controller_client.publishing.quota import QuotaExceededError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport
from minion_tasks.file_ingestion.session.model import Session, SessionState
from tests.unit.minion_tasks.session_world import (
    SOURCE,
    STAGING,
    Content,
    Happenings,
    ProcessDiedError,
    World,
    rows_of,
)

APPEND = {"consistentPushEnabled": "true", "consistentPushMaxRetries": "3"}
SYNC = {**APPEND, "enableSync": "true"}
SWAP = {"consistentPushSwapEnabled": "true", "consistentPushMaxRetries": "3"}
# Each file has a row and is a segment, so that no file shares another's fate.
ALONE = {"desiredSegmentSize": "1", "maxNumRecordsPerSegment": "2"}
FIT_1 = ["F1", "F2", "F3", "F4", "F5"]


class Life:
    """A table's triggers, and what came of them."""

    def __init__(self, world: World, configs: dict[str, str]) -> None:
        self.world = world
        self.configs = configs

    def write(self, *names: str) -> None:
        for name in names:
            # 1, 5, 9, ...: versions with one row.
            self.world.source[name] = next(self.world.versions) * 4 + 1

    def delete(self, name: str) -> int:
        return self.world.source.pop(name)

    def spoil(self, *names: str) -> None:
        self.world.faults = dict.fromkeys(names, "row 7 is wrong")

    def trigger(self, happenings: Happenings | None = None, **changes: str) -> RunReport:
        configs = {"inputDirURI": SOURCE, "inputFormat": "csv", "outputDirURI": STAGING}
        if "enableSync" not in self.configs:
            configs |= ALONE
        params = FileIngestionParams.from_configs({**configs, **self.configs, **changes})
        return self.world.trigger(params, happenings or Happenings())

    def fails(self, happenings: Happenings | None = None, **changes: str) -> PinotPluginError:
        with pytest.raises(PinotPluginError) as caught:
            self.trigger(happenings, **changes)
        return caught.value

    @property
    def read(self) -> list[str]:
        """The files that the last trigger read."""
        return sorted(name for name, _ in self.world.reads)

    @property
    def seen(self) -> dict[str, int]:
        """What queries see: files and their versions."""
        rows = [row for content in self.world.table.values() for row in content.rows]
        assert sorted(rows) == sorted({row[:2]: rows_of(*row[:2])[0] for row in rows}.values())
        return {name: version for name, version, _ in rows}

    @property
    def session(self) -> Session:
        session = self.world.sessions.latest()
        assert session is not None
        return session


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture(params=[APPEND, SYNC, SWAP], ids=["append", "sync", "swap"])
def life(world: World, request: pytest.FixtureRequest) -> Life:
    return Life(world, request.param)


@pytest.fixture
def after_scene_1(life: Life) -> Life:
    """Scene 1: F1 and F2 are ingested, F3, F4 and F5 fail; nothing is seen."""
    life.write(*FIT_1)
    life.spoil("F3", "F4", "F5")
    error = life.fails()
    assert isinstance(error, FilesFailedError)
    assert "3 of 5 files" in str(error)
    assert "left)" in str(error)
    assert life.read == FIT_1
    assert life.seen == {}
    assert (life.session.state, life.session.retry_count) == (SessionState.IN_PROGRESS, 0)
    life.spoil()
    return life


def test_scene_2_a_new_file_joins_the_retry(after_scene_1: Life) -> None:
    life = after_scene_1
    session_id = life.session.session_id
    life.write("F6")
    report = life.trigger()
    assert life.read == ["F3", "F4", "F5", "F6"]
    assert life.seen == life.world.source
    assert (report.outcome, report.session_id) == (RunOutcome.SWITCHED, session_id)
    assert (report.retry_count, report.files, life.session.state) == (1, 6, SessionState.DONE)


def test_scene_3_a_failed_file_that_was_rewritten_is_read_as_it_is(after_scene_1: Life) -> None:
    life = after_scene_1
    life.write("F3")
    life.trigger()
    assert life.read == ["F3", "F4", "F5"]
    assert life.seen == life.world.source


def test_scene_4_a_staged_file_that_was_rewritten_is_for_the_next_session(after_scene_1: Life) -> None:
    life = after_scene_1
    before = dict(life.world.source)
    life.write("F1")
    life.trigger()
    assert life.read == ["F3", "F4", "F5"]
    assert life.seen == before
    first = life.session.session_id
    report = life.trigger()
    if life.configs is APPEND:
        # Append mode never reads a file again that is in the table; it tells of it.
        assert report.outcome is RunOutcome.NOTHING_NEW
        assert report.changed == (f"{SOURCE}/F1",)
        assert life.seen == before
    else:
        assert life.read == (["F1"] if life.configs is SYNC else FIT_1)
        assert life.seen == life.world.source
        assert report.session_id != first
        assert report.retry_count == 0


def test_scene_5_a_staged_file_that_was_deleted_goes(after_scene_1: Life) -> None:
    life = after_scene_1
    life.delete("F1")
    report = life.trigger()
    assert life.read == ["F3", "F4", "F5"]
    assert life.seen == life.world.source
    assert (report.files, report.segments) == (4, 4)


def test_scene_6_a_failed_file_that_was_deleted_is_omitted(after_scene_1: Life) -> None:
    life = after_scene_1
    life.delete("F3")
    report = life.trigger()
    assert life.read == ["F4", "F5"]
    assert life.seen == life.world.source
    assert (report.files, report.segments) == (4, 4)


def test_key_point_1_without_retries_everything_is_read_again(life: Life) -> None:
    life.write(*FIT_1)
    life.spoil("F3")
    error = life.fails(consistentPushMaxRetries="0")
    assert "it starts over" in str(error)
    assert (life.session.abandoned, life.world.staged, life.seen) == (True, {}, {})
    life.spoil()
    report = life.trigger(consistentPushMaxRetries="0")
    assert life.read == FIT_1
    assert (report.retry_count, life.seen) == (0, life.world.source)


def test_exhausted_retries_clear_the_progress_and_the_next_trigger_begins_anew(life: Life) -> None:
    life.write(*FIT_1)
    life.spoil("F3")
    reads = []
    for _ in range(6):
        life.fails()
        reads.append(life.read)
    assert reads == [FIT_1, ["F3"], ["F3"], ["F3"], FIT_1, ["F3"]]
    assert (life.session.retry_count, life.seen) == (1, {})
    assert len(life.world.sessions.ids()) == 2


def test_key_point_3_retries_are_counted_in_the_session(life: Life) -> None:
    life.write("F1")
    life.spoil("F1")
    for retry in range(4):
        life.fails()
        assert life.session.retry_count == retry
        assert len(life.session.attempts_ms) == retry + 1


def test_key_point_5_a_rewritten_file_is_not_read_again_in_any_retry(after_scene_1: Life) -> None:
    life = after_scene_1
    before = dict(life.world.source)
    life.write("F1")
    life.spoil("F5")
    life.fails()
    life.write("F3")
    life.spoil()
    life.trigger()
    assert life.read == ["F5"]
    assert life.seen == before


def test_key_point_7_atomic_upload_is_consistent_push_without_retries(world: World) -> None:
    life = Life(world, {"enableSync": "true", "enableAtomicUpload": "true"})
    life.write(*FIT_1)
    life.spoil("F3")
    life.fails()
    assert life.seen == {}
    life.spoil()
    life.trigger()
    assert life.read == FIT_1
    assert life.seen == world.source


@pytest.mark.parametrize("configs", [{}, {"enableSync": "true"}], ids=["append", "sync"])
def test_without_consistent_push_the_good_files_come_and_the_others_are_tried_again(
    world: World, configs: dict[str, str]
) -> None:
    life = Life(world, configs)
    life.write(*FIT_1)
    life.spoil("F3")
    error = life.fails()
    assert isinstance(error, FilesFailedError)
    assert "the others are in" in str(error)
    assert sorted(life.seen) == ["F1", "F2", "F4", "F5"]
    life.spoil()
    life.trigger()
    assert life.read == ["F3"]
    assert life.seen == world.source


def test_files_that_are_rewritten_and_deleted_in_a_file_for_file_table(world: World) -> None:
    for configs in (SYNC, {"enableSync": "true"}):
        life = Life(world, configs)
        life.write(*FIT_1)
        life.trigger()
        assert life.seen == world.source
        life.write("F2")
        life.delete("F3")
        life.trigger()
        assert life.read == ["F2"]
        assert life.seen == world.source
        assert life.trigger().outcome is RunOutcome.NOTHING_NEW


def test_a_table_that_goes_to_consistent_push_and_back_uses_no_name_again(world: World) -> None:
    for configs in ({"enableSync": "true"}, SYNC, {"enableSync": "true"}):
        life = Life(world, configs)
        life.write(*FIT_1)
        life.trigger()
        assert life.seen == world.source


IN_PLACE = {"enableSync": "true"}


@pytest.mark.parametrize("configs", [SYNC, SWAP], ids=["sync", "swap"])
def test_a_source_that_was_emptied_empties_the_table_where_that_is_allowed(
    world: World, configs: dict[str, str]
) -> None:
    life = Life(world, {**configs, "allowEmptySource": "true"})
    life.write("F1", "F2")
    life.trigger()
    life.delete("F1")
    life.delete("F2")
    report = life.trigger()
    assert (life.read, life.seen, report.segments) == ([], {}, 1)
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW
    life.write("F3")
    life.trigger()
    assert life.seen == world.source
    assert len(world.table) == 1, "what stood for nothing is not needed any more"


@pytest.mark.parametrize("configs", [SYNC, SWAP, IN_PLACE], ids=["sync", "swap", "in place"])
def test_a_source_that_was_emptied_is_refused(world: World, configs: dict[str, str]) -> None:
    life = Life(world, configs)
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW, "a table without rows loses nothing"
    life.write("F1", "F2")
    life.trigger()
    before = life.seen
    for name in ("F1", "F2"):
        life.delete(name)
    refused = life.fails()
    assert isinstance(refused, SourceError)
    assert "there is no file below file:///in, and all " in str(refused)
    assert "allowEmptySource" in str(refused)
    assert (life.seen, life.read, life.session.state) == (before, [], SessionState.DONE)


@pytest.mark.parametrize("configs", [SYNC, SWAP, IN_PLACE], ids=["sync", "swap", "in place"])
def test_patterns_that_leave_out_all_files_are_refused_with_some_of_them(
    world: World, configs: dict[str, str]
) -> None:
    life = Life(world, configs)
    life.write(*FIT_1)
    said = "the patterns leave out all 5"
    assert said in str(life.fails(includeFileNamePattern="glob:**/*.csv")), "also into a table without rows"
    assert life.trigger(excludeFileNamePattern="glob:**/F1").left_out == 1
    before = life.seen
    for pattern in ({"includeFileNamePattern": "glob:**/*.csv"}, {"excludeFileNamePattern": "glob:**"}):
        refused = life.fails(None, **pattern)
        assert isinstance(refused, SourceError)
        for text in (
            said,
            "segments would be deleted",
            *pattern.values(),
            "/in/F1, /in/F2, /in/F3",
            "allowEmptySource",
        ):
            assert text in str(refused)
        assert (life.seen, life.read) == (before, [])
    emptied = life.trigger(includeFileNamePattern="glob:**/*.csv", allowEmptySource="true")
    assert (life.seen, emptied.left_out) == ({}, 5)
    assert [file.uri for file in emptied.left_out_first] == [f"{SOURCE}/F{n}" for n in (1, 2, 3)]


def test_a_session_that_goes_on_is_kept_while_its_source_is_refused(world: World) -> None:
    life = Life(world, SYNC)
    life.write("F1")
    life.trigger()
    life.write("F1", "F2")
    life.spoil("F2")
    life.fails()
    for pattern in ("glob:**/*.csv", "glob:**/*.json"):
        assert isinstance(life.fails(includeFileNamePattern=pattern), SourceError)
    assert (life.session.is_open, life.session.retry_count) == (True, 0)
    life.spoil()
    life.trigger()
    assert life.seen == world.source


def test_an_append_source_in_which_nothing_matches_is_an_error_that_counts_as_no_retry(world: World) -> None:
    life = Life(world, APPEND)
    assert isinstance(life.fails(), SourceError)
    life.write("F1")
    life.spoil("F1")
    life.fails()
    life.delete("F1")
    assert isinstance(life.fails(), SourceError)
    assert (life.session.is_open, life.session.retry_count) == (True, 0)


def test_a_swap_takes_what_others_pushed_away(world: World) -> None:
    life = Life(world, SWAP)
    life.write("F1")
    life.trigger()
    world.table["theirs"] = Content({}, ())
    life.trigger()
    assert life.read == ["F1"]
    assert "theirs" not in world.table
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW


def test_a_swap_whose_retry_finds_the_source_as_the_table_is_loses_no_file(world: World) -> None:
    life = Life(world, SWAP)
    life.write("F1", "F2")
    life.trigger()
    moved_away = life.delete("F2")
    life.spoil("F1")
    life.fails()
    life.spoil()
    world.source["F2"] = moved_away
    life.trigger()
    assert life.seen == world.source


def test_sync_reads_again_what_shares_a_segment_also_when_it_was_put_back(world: World) -> None:
    together = {"desiredSegmentSize": "1K", "maxNumRecordsPerSegment": "10"}
    before = Life(world, {**APPEND, **together})
    before.write("F1", "F2")
    before.trigger()
    assert len(world.table) == 1
    life = Life(world, SYNC)
    old = dict(world.source)
    life.write("F1")
    life.spoil("F2")
    life.fails()
    assert life.read == ["F1", "F2"]
    # F2 leaves the session; when it is back, neither it nor F1 differs from the table.
    life.delete("F2")
    life.write("F3")
    life.spoil("F3")
    life.fails()
    life.spoil()
    world.source |= old
    life.delete("F3")
    life.trigger()
    life.trigger()
    assert life.seen == world.source


@pytest.mark.parametrize("configs", [SYNC, SWAP], ids=["sync", "swap"])
def test_when_all_files_are_skipped_what_is_gone_goes_still(world: World, configs: dict[str, str]) -> None:
    life = Life(world, {**configs, "skipFileIfFailToInitReader": "true"})
    life.write("F1")
    life.trigger()
    life.delete("F1")
    life.write("F2")
    world.faults = {"F2": "no header"}
    report = life.trigger()
    assert (life.seen, report.skipped, report.segments) == ({}, (f"{SOURCE}/F2",), 1)
    world.faults = {}
    life.trigger()
    assert life.seen == world.source


@pytest.mark.parametrize(
    ("happenings", "error"),
    [
        (Happenings(quota_exceeded=True), QuotaExceededError),
        (Happenings(lock_lost=True), ConflictError),
    ],
)
def test_what_is_staged_outlives_a_fault_behind_the_subtasks(
    life: Life, happenings: Happenings, error: type[Exception]
) -> None:
    life.write(*FIT_1)
    assert isinstance(life.fails(happenings), error)
    assert life.seen == {}
    report = life.trigger()
    assert (life.read, report.retry_count) == ([], 1)
    assert life.seen == life.world.source


def test_an_engine_that_does_not_start_makes_no_session_and_counts_no_retry(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_params: FileIngestionParams) -> int:
        raise SetupError("Spark does not start")

    life.write(*FIT_1)
    with monkeypatch.context() as patch:
        patch.setattr(life.world, "slots", refuses)
        assert isinstance(life.fails(), SetupError)
    assert life.world.sessions.ids() == []
    life.spoil("F3")
    life.fails()
    with monkeypatch.context() as patch:
        patch.setattr(life.world, "slots", refuses)
        assert isinstance(life.fails(), SetupError)
    assert life.session.retry_count == 0
    life.spoil()
    assert life.trigger().retry_count == 1
    assert life.seen == life.world.source


def test_a_full_disk_is_reported_as_such(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    def upload(_path: Path, _uri: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    life.write("F1")
    with monkeypatch.context() as patch:
        patch.setattr(life.world, "upload", upload)
        error = life.fails()
    assert "no space is left on the disk of " in str(error)
    assert "free space there; the files are not at fault" in str(error)
    assert "schema" not in str(error)
    life.trigger()
    assert life.seen == life.world.source


def test_a_subtask_that_was_lost_is_told_and_its_files_are_read_by_the_retry(life: Life) -> None:
    life.write(*FIT_1)
    error = life.fails(Happenings(subtasks=["lost"]), tableMaxNumTasks="1")
    assert "its subtask ended without a result" in str(error)
    life.trigger()
    assert life.read == FIT_1


def test_a_run_that_was_killed_while_subtasks_ran_lets_them_end_and_keeps_what_they_staged(
    life: Life,
) -> None:
    life.write(*FIT_1)
    with pytest.raises(ProcessDiedError):
        life.trigger(Happenings(run_dies_waiting=True))
    report = life.trigger()
    assert life.read == FIT_1, "once, by the subtasks of the first run"
    assert (report.retry_count, life.seen) == (1, life.world.source)


@pytest.mark.parametrize("step", range(1, 31))
def test_a_run_that_is_killed_anywhere_loses_nothing_and_brings_nothing_twice(life: Life, step: int) -> None:
    life.write(*FIT_1)
    life.trigger()
    life.write("F6", "F7")
    life.delete("F1")
    with suppress(ProcessDiedError):
        life.trigger(Happenings(run_dies_at=step))
    assert life.seen.keys() in ({*FIT_1}, {*life.world.source}, {*FIT_1, "F6", "F7"})
    life.trigger()
    expected = dict(life.world.source)
    if life.configs is APPEND:
        assert {name: v for name, v in life.seen.items() if name != "F1"} == expected
        assert "F1" in life.seen
    else:
        assert life.seen == expected
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW
