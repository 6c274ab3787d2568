"""An example of retries, scene by scene; without Pinot, see ``session_world``."""

from __future__ import annotations

import errno
import gzip
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

import pytest

from controller_client.errors import ConflictError, SetupError
from controller_client.publishing.lineage_size import LineageFullError, lineage_path
from controller_client.publishing.targets import QuotaExceededError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome
from minion_tasks.file_ingestion.session.model import SessionState
from tests.unit.minion_tasks.happenings import SOURCE, Happenings, ProcessDiedError
from tests.unit.minion_tasks.life import APPEND, FIT_1, SWAP, SYNC, Life
from tests.unit.minion_tasks.samples import TABLE
from tests.unit.minion_tasks.session_world import World


@pytest.mark.parametrize(
    ("written", "deleted", "read", "files"),
    [
        pytest.param("F6", None, ["F3", "F4", "F5", "F6"], 6, id="scene 2: a file is added"),
        pytest.param("F3", None, ["F3", "F4", "F5"], 5, id="scene 3: a failed file is rewritten"),
        pytest.param(None, "F1", ["F3", "F4", "F5"], 4, id="scene 5: a staged file is deleted"),
        pytest.param(None, "F3", ["F4", "F5"], 4, id="scene 6: a failed file is deleted"),
    ],
)
def test_one_file_is_added_rewritten_or_deleted(
    after_scene_1: Life, written: str | None, deleted: str | None, read: list[str], files: int
) -> None:
    life = after_scene_1
    session_id = life.session.session_id
    if written is not None:
        life.write(written)
    if deleted is not None:
        life.delete(deleted)
    report = life.trigger()
    assert (life.read, life.seen) == (read, life.world.source)
    assert (report.outcome, report.session_id) == (RunOutcome.SWITCHED, session_id)
    assert (report.retry_count, report.files, report.segments) == (1, files, files)
    assert life.session.state is SessionState.DONE


def test_scene_4_a_rewritten_staged_file_is_ingested_by_the_next_session(after_scene_1: Life) -> None:
    life = after_scene_1
    before = dict(life.world.source)
    life.write("F1")
    life.trigger()
    assert life.read == ["F3", "F4", "F5"]
    assert life.seen == before
    first = life.session.session_id
    report = life.trigger()
    if life.configs is APPEND:
        # Append mode never reads an ingested file again, but reports that it changed.
        assert report.outcome is RunOutcome.NOTHING_NEW
        assert report.changed == (f"{SOURCE}/F1",)
        assert life.seen == before
    else:
        assert life.read == (["F1"] if life.configs is SYNC else FIT_1)
        assert life.seen == life.world.source
        assert report.session_id != first
        assert report.retry_count == 0


def test_a_rewritten_staged_file_is_not_read_again_by_any_retry(after_scene_1: Life) -> None:
    life = after_scene_1
    before = dict(life.world.source)
    life.write("F1")
    life.corrupt("F5")
    life.fails()
    life.write("F3")
    life.corrupt()
    life.trigger()
    assert life.read == ["F5"]
    assert life.seen == before


def test_without_retries_everything_is_read_again(life: Life) -> None:
    life.write(*FIT_1)
    life.corrupt("F3")
    error = life.fails(consistentPushMaxRetries="0")
    assert "it starts over" in str(error)
    assert (life.session.abandoned, life.world.staged, life.seen) == (True, {}, {})
    life.corrupt()
    report = life.trigger(consistentPushMaxRetries="0")
    assert life.read == FIT_1
    assert (report.retry_count, life.seen) == (0, life.world.source)


def test_after_the_last_retry_the_next_trigger_starts_over(life: Life) -> None:
    life.write(*FIT_1)
    life.corrupt("F3")
    reads = []
    for retry in (0, 1, 2, 3, 0, 1):
        message = str(life.fails())
        assert ("it starts over" if retry == 3 else f"(retries left: {3 - retry})") in message
        assert (life.session.retry_count, len(life.session.attempts_ms), life.seen) == (retry, retry + 1, {})
        reads.append(life.read)
    assert reads == [FIT_1, ["F3"], ["F3"], ["F3"], FIT_1, ["F3"]]
    assert len(life.world.sessions.ids()) == 2


def test_atomic_upload_is_consistent_push_without_retries(world: World) -> None:
    life = Life(world, {"enableSync": "true", "enableAtomicUpload": "true"})
    life.write(*FIT_1)
    life.corrupt("F3")
    life.fails()
    assert life.seen == {}
    life.corrupt()
    life.trigger()
    assert life.read == FIT_1
    assert life.seen == world.source


@pytest.mark.parametrize("configs", [{}, {"enableSync": "true"}], ids=["append", "sync"])
def test_without_consistent_push_good_files_are_added_and_the_others_are_retried(
    world: World, configs: dict[str, str]
) -> None:
    life = Life(world, configs)
    life.write(*FIT_1)
    life.corrupt("F3")
    error = life.fails()
    assert isinstance(error, FilesFailedError)
    assert "the others are in" in str(error)
    assert sorted(life.seen) == ["F1", "F2", "F4", "F5"]
    life.corrupt()
    life.trigger()
    assert life.read == ["F3"]
    assert life.seen == world.source


def test_rewritten_and_deleted_files_in_sync_mode(world: World) -> None:
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


def test_segment_names_are_not_reused_when_consistent_push_is_enabled_and_disabled(world: World) -> None:
    for configs in ({"enableSync": "true"}, SYNC, {"enableSync": "true"}):
        life = Life(world, configs)
        life.write(*FIT_1)
        life.trigger()
        assert life.seen == world.source


@pytest.mark.parametrize(
    ("happenings", "error"),
    [
        (Happenings(quota_exceeded=True), QuotaExceededError),
        (Happenings(lock_lost=True), ConflictError),
    ],
)
def test_staged_files_survive_a_fault_after_the_subtasks(
    life: Life, happenings: Happenings, error: type[Exception]
) -> None:
    life.write(*FIT_1)
    assert isinstance(life.fails(happenings), error)
    assert life.seen == {}
    report = life.trigger()
    assert (life.read, report.retry_count) == ([], 1)
    assert life.seen == life.world.source


@pytest.mark.parametrize("configs", [APPEND, SYNC, SWAP])
def test_no_file_is_read_if_the_lineage_has_no_room(world: World, configs: dict[str, str]) -> None:
    names = ",".join(secrets.token_hex(32) for _ in range(40_000))
    fields = {"e": [names, "x", "COMPLETED", "1"]}
    document = {"id": TABLE, "simpleFields": {}, "mapFields": {}, "listFields": fields}
    # As written by a controller with a higher limit.
    world.store.put(lineage_path(TABLE), gzip.compress(json.dumps(document).encode()), 3)
    life = Life(world, configs)
    life.write(*FIT_1)
    assert isinstance(life.fails(), LineageFullError)
    assert (life.read, life.seen, world.sessions.ids(), world.staged) == ([], {}, [], {})


def test_servers_that_are_behind_are_reported_and_recorded_in_the_session(world: World) -> None:
    world.behind = {"Server_b": 2}
    for configs, expected in (
        (APPEND, ()),
        ({**APPEND, "minServingReplicas": "1"}, (("Server_b", 2),)),
        ({"minServingReplicas": "1"}, (("Server_b", 2),)),
    ):
        life = Life(world, configs)
        life.write(f"F{len(world.source)}")
        assert life.trigger().behind == expected
        assert world.sessions.load(life.session.session_id).behind == expected


def test_an_engine_that_fails_to_start_creates_no_session_and_uses_no_retry(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_params: FileIngestionParams) -> int:
        raise SetupError("Spark failed to start")

    life.write(*FIT_1)
    with monkeypatch.context() as patch:
        patch.setattr(life.world, "slots", refuses)
        assert isinstance(life.fails(), SetupError)
    assert life.world.sessions.ids() == []
    life.corrupt("F3")
    life.fails()
    with monkeypatch.context() as patch:
        patch.setattr(life.world, "slots", refuses)
        assert isinstance(life.fails(), SetupError)
    assert life.session.retry_count == 0
    life.corrupt()
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


def test_a_lost_subtask_is_reported_and_its_files_are_read_by_the_retry(life: Life) -> None:
    life.write(*FIT_1)
    error = life.fails(Happenings(subtasks=["lost"]), tableMaxNumTasks="1")
    assert "its subtask ended without a result" in str(error)
    life.trigger()
    assert life.read == FIT_1


def test_subtasks_of_a_killed_run_finish_and_their_staged_files_are_kept(
    life: Life,
) -> None:
    life.write(*FIT_1)
    with pytest.raises(ProcessDiedError):
        life.trigger(Happenings(run_dies_waiting=True))
    report = life.trigger()
    assert life.read == FIT_1, "read once, by the subtasks of the first run"
    assert (report.retry_count, life.seen) == (1, life.world.source)


@pytest.mark.parametrize("step", range(1, 31))
def test_a_run_killed_at_any_step_loses_and_duplicates_nothing(life: Life, step: int) -> None:
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
