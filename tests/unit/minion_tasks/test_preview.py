"""The preview of the next trigger: its sentence, and what a retry does with the files of its session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller_client.common.names import TableName
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.zookeeper import ZNRecord
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.plan.planner import plan_source
from minion_tasks.file_ingestion.run.preview import (
    Action,
    Fate,
    NextTrigger,
    Preview,
    next_trigger,
    plan_retry,
)
from minion_tasks.file_ingestion.run.source_view import SourceView
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    IngestionMode,
    Session,
    SessionState,
    StagedUnit,
)
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.unit.memory_zookeeper import MemoryPropertyStore

SOURCE = "s3://bucket/in/"
TABLE = TableName("t_OFFLINE")
SESSION = Session(
    session_id="s1",
    table=TABLE,
    state=SessionState.IN_PROGRESS,
    created_ms=1,
    updated_ms=1,
    owner="me@here:1",
    mode=IngestionMode.APPEND,
    atomic=True,
    source=SOURCE,
    staging_uri="s3://bucket/staging/s1",
)


def params(**more: str) -> FileIngestionParams:
    return FileIngestionParams.from_configs(
        {
            "inputDirURI": SOURCE,
            "inputFormat": "csv",
            "consistentPushEnabled": "true",
            "consistentPushMaxRetries": "3",
            **more,
        }
    )


def decided(session: Session | None, given: FileIngestionParams, *, dropped: bool = False) -> NextTrigger:
    """The decision for a last session that is not in SWITCH; needs no controller."""
    memory = MemoryPropertyStore()
    sessions = SessionStore(memory, TABLE)
    table = ("/CONFIGS/TABLE/t_OFFLINE", ZNRecord("t_OFFLINE", {}))
    if not dropped:
        memory.create(*table)
    if session is not None:
        sessions.create(session)
    if dropped:
        memory.create(*table)
    return next_trigger(None, sessions, given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("session", "unread", "expected"),
    [
        (SESSION, 3, "reads 3 files that are not staged, and files added since (retry 1 of 3)"),
        (
            replace(SESSION, retry_count=2),
            1,
            "reads 1 file that is not staged, and files added since (retry 3 of 3)",
        ),
        (
            SESSION,
            0,
            "reads files added since, then switches, since all other files are staged (retry 1 of 3)",
        ),
        (replace(SESSION, retry_count=3), 3, "starts over: its retries are exhausted"),
        (replace(SESSION, state=SessionState.INIT), 0, "starts over: its plan was not finished"),
        (
            replace(SESSION, mode=IngestionMode.SYNC),
            3,
            "starts over: the task's configuration has changed since it started",
        ),
        (
            replace(SESSION, source="s3://bucket/else/"),
            3,
            "starts over: the task's configuration has changed since it started",
        ),
        (replace(SESSION, state=SessionState.DONE), 0, "compares the source with the table"),
        (replace(SESSION, abandoned=True), 3, "compares the source with the table"),
        (None, None, "compares the source with the table"),
    ],
)
def test_the_sentence(session: Session | None, unread: int | None, expected: str) -> None:
    assert decided(session, params()).sentence(params(), unread) == expected


def test_without_retries_an_open_session_is_discarded() -> None:
    no_retries = params(consistentPushMaxRetries="0")
    assert decided(SESSION, no_retries).sentence(no_retries, 3) == "starts over: there are no retries"


def test_a_session_of_a_dropped_table_is_discarded() -> None:
    found = decided(SESSION, params(), dropped=True)
    assert found.sentence(params(), 3) == "starts over: its table was dropped"


@pytest.mark.parametrize("state", list(SessionState))
def test_clearing_happens_first(state: SessionState) -> None:
    clearing = params(clearConsistentPushState="true")
    found = decided(replace(SESSION, state=state), clearing)
    assert found.action is Action.CLEAR
    assert found.sentence(clearing, 3) == (
        "clears all sessions, since clearConsistentPushState is true; then compares the source with the table"
    )


def file(name: str, size: int = 100) -> FileInfo:
    return FileInfo(f"{SOURCE}{name}", size, 1)


def unit(*numbers: int) -> StagedUnit:
    segment = StagedSegment(f"t_s1_{numbers[0]:06d}", "s3://bucket/staging/s1/x", 1, 10, 5, 9, 0.1, "arrow")
    return StagedUnit(numbers, (segment,))


# Scene 1: F1 and F2 are ingested, F3, F4 and F5 fail.
F1, F2, F3, F4, F5 = (file(f"F{n}") for n in range(1, 6))
AFTER_SCENE_1 = FileGroup(
    0,
    (
        FileEntry(0, F1, FileStatus.STAGED),
        FileEntry(1, F2, FileStatus.STAGED),
        *(FileEntry(n, f, FileStatus.FAILED, "bad") for n, f in ((2, F3), (3, F4), (4, F5))),
    ),
    (unit(0), unit(1)),
)


def retry(
    *listed: FileInfo,
    group: FileGroup = AFTER_SCENE_1,
    in_table: Mapping[str, tuple[FileInfo, ...]] | None = None,
    slots: int | None = 1,
    **more: str,
) -> Preview:
    with_params = params(**more)
    table = in_table or {}
    contents = TableContents(
        {f.uri: f for files in table.values() for f in files},
        {name: tuple(f.uri for f in files) for name, files in table.items()},
    )
    mode = with_params.mode
    view = SourceView(mode, {f.uri: f for f in listed}, contents, plan_source(mode, listed, contents))
    return plan_retry(NextTrigger(Action.RESUME, SESSION), view, [group], with_params, slots=slots)


def fates(found: Preview) -> dict[str, Fate]:
    assert found.fate is not None
    return {uri.removeprefix(SOURCE): fate for uri, fate in found.fate.files}


def reads(found: Preview) -> list[str]:
    return [f.uri.removeprefix(SOURCE) for f in found.to_read]


def test_scene_2_a_new_file_is_added() -> None:
    found = retry(F1, F2, F3, F4, F5, file("F6"))
    assert fates(found) == {
        "F1": Fate.KEPT,
        "F2": Fate.KEPT,
        "F3": Fate.READ,
        "F4": Fate.READ,
        "F5": Fate.READ,
        "F6": Fate.JOINS,
    }
    assert reads(found) == ["F3", "F4", "F5", "F6"]
    assert (found.not_staged, found.subtasks, found.bytes_to_read) == (3, 2, 400)
    assert found.fate is not None
    assert found.fate.counts() == {"kept": 2, "to_read": 3, "joining": 1}


def test_subtasks_are_unknown_if_only_the_run_can_count_them() -> None:
    found = retry(F1, F2, F3, F4, F5, file("F6"), slots=None)
    assert reads(found) == ["F3", "F4", "F5", "F6"]
    assert found.subtasks is None


def test_scene_3_a_failed_file_is_read_in_its_current_version() -> None:
    rewritten = file("F3", 999)
    found = retry(F1, F2, rewritten, F4, F5)
    assert fates(found)["F3"] is Fate.READ_REWRITTEN
    assert rewritten in found.to_read
    assert found.not_staged == 3


def test_scene_4_a_rewritten_staged_file_stays_staged() -> None:
    found = retry(file("F1", 999), F2, F3, F4, F5)
    assert fates(found)["F1"] is Fate.KEPT_REWRITTEN
    assert reads(found) == ["F3", "F4", "F5"]


def test_scene_5_a_deleted_staged_file_is_dropped_with_its_segment() -> None:
    found = retry(F2, F3, F4, F5)
    assert fates(found)["F1"] is Fate.DROPPED
    assert reads(found) == ["F3", "F4", "F5"]


def test_files_that_share_a_segment_with_a_deleted_file_are_read_again() -> None:
    together = replace(AFTER_SCENE_1, units=(unit(0, 1),))
    found = retry(F2, F3, F4, F5, group=together)
    assert (fates(found)["F1"], fates(found)["F2"]) == (Fate.DROPPED, Fate.READ_AGAIN)
    assert reads(found) == ["F2", "F3", "F4", "F5"]
    assert found.not_staged == 4


def test_scene_6_a_deleted_failed_file_is_dropped() -> None:
    found = retry(F1, F2, F4, F5)
    assert fates(found)["F3"] is Fate.DROPPED
    assert reads(found) == ["F4", "F5"]


def test_a_skipped_file_stays_skipped() -> None:
    skipped = replace(AFTER_SCENE_1.entries[2], status=FileStatus.SKIPPED)
    entries = (*AFTER_SCENE_1.entries[:2], skipped, *AFTER_SCENE_1.entries[3:])
    found = retry(F1, F2, F3, F4, F5, group=replace(AFTER_SCENE_1, entries=entries))
    assert fates(found)["F3"] is Fate.SKIPPED
    assert reads(found) == ["F4", "F5"]


def test_an_empty_segment_replaces_the_others_if_all_files_are_deleted() -> None:
    found = retry(enableSync="true", in_table={"old": (F1,)})
    assert set(fates(found).values()) == {Fate.DROPPED}
    assert (reads(found), found.comes_empty, found.subtasks) == ([], True, 1)
    assert found.replaced == ("old",)


def test_replaced_segments_are_previewed_as_the_switch_will_decide() -> None:
    table = {"of_f1": (F1,), "of_f9": (file("F9"),), "of_f8": (file("F8"),)}
    found = retry(F1, F2, F3, F4, F5, file("F8"), enableSync="true", in_table=table)
    assert found.replaced == ("of_f1", "of_f9")
    assert found.conflict is None


def test_files_that_share_a_segment_of_the_table_with_a_file_of_the_session_are_added() -> None:
    table = {"of_both": (F1, file("F8"))}
    found = retry(F1, F2, F3, F4, F5, file("F8"), enableSync="true", in_table=table)
    assert fates(found)["F8"] is Fate.JOINS
    assert (found.replaced, found.conflict) == (("of_both",), None)


def test_a_segment_that_cannot_be_replaced_is_reported() -> None:
    skipped = replace(AFTER_SCENE_1.entries[2], status=FileStatus.SKIPPED)
    entries = (*AFTER_SCENE_1.entries[:2], skipped, *AFTER_SCENE_1.entries[3:])
    found = retry(
        *(F1, F2, F3, F4, F5),
        group=replace(AFTER_SCENE_1, entries=entries),
        enableSync="true",
        in_table={"of_both": (F1, F3)},
    )
    assert found.replaced == ()
    assert found.conflict is not None
    assert "of_both" in found.conflict


def test_subtasks_are_limited_as_in_the_run() -> None:
    new = [file(f"G{n}") for n in range(10)]
    assert retry(F1, F2, F3, F4, F5, *new, taskMaxNumFilesPerTask="2").subtasks == 6
    assert retry(F1, F2, F3, F4, F5, *new, taskMaxNumFilesPerTask="2", tableMaxNumTasks="4").subtasks == 4
