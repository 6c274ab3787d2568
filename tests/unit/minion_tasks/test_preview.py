"""The preview of the next trigger: its sentence, and what a retry does with the files of its session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller_client.filestore import FileInfo
from controller_client.zookeeper import ZNRecord
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.plan.planner import plan_source
from minion_tasks.file_ingestion.run.preview import (
    Fate,
    FirstAction,
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
    StagedBuild,
)
from tests.unit.minion_tasks.happenings import name_of
from tests.unit.minion_tasks.samples import file, make_params, make_session, make_store, segment

SESSION = make_session(state=SessionState.IN_PROGRESS)


def params(**more: str) -> FileIngestionParams:
    given = {"inputDirURI": SESSION.source, "consistentPushEnabled": "true", "consistentPushMaxRetries": "3"}
    return make_params(**{**given, **more})


def decided(session: Session | None, given: FileIngestionParams, *, dropped: bool = False) -> NextTrigger:
    """The decision for a last session that is not in SWITCH; needs no controller."""
    sessions, memory = make_store()
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
        (
            replace(SESSION, state=SessionState.REJECTED, retry_count=3),
            0,
            "checks what is staged once more; if the source has changed, it reads what is new first",
        ),
        (replace(SESSION, state=SessionState.INIT), 0, "starts over: its plan was not finished"),
        (
            replace(SESSION, mode=IngestionMode.SYNC),
            3,
            "starts over: the task's configuration has changed since it started",
        ),
        (
            replace(SESSION, source="file:///else"),
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
    assert found.action is FirstAction.CLEAR
    assert found.sentence(clearing, 3) == (
        "clears all sessions, since clearConsistentPushState is true; then compares the source with the table"
    )


def build(*numbers: int) -> StagedBuild:
    return StagedBuild(numbers, (segment(f"t_s1_{numbers[0]:06d}"),))


# Scene 1: F1 and F2 are ingested, F3, F4 and F5 fail.
F1, F2, F3, F4, F5 = (file(f"F{n}") for n in range(1, 6))
AFTER_SCENE_1 = FileGroup(
    0,
    (
        FileEntry(0, F1, FileStatus.STAGED),
        FileEntry(1, F2, FileStatus.STAGED),
        *(FileEntry(n, f, FileStatus.FAILED, "bad") for n, f in ((2, F3), (3, F4), (4, F5))),
    ),
    (build(0), build(1)),
)
_F3_SKIPPED = replace(AFTER_SCENE_1.entries[2], status=FileStatus.SKIPPED)
F3_SKIPPED = replace(
    AFTER_SCENE_1, entries=(*AFTER_SCENE_1.entries[:2], _F3_SKIPPED, *AFTER_SCENE_1.entries[3:])
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
    return plan_retry(NextTrigger(FirstAction.RESUME, SESSION), view, [group], with_params, slots=slots)


def fates(found: Preview) -> dict[str, Fate]:
    assert found.fate is not None
    return {name_of(uri): fate for uri, fate in found.fate.files}


def reads(found: Preview) -> list[str]:
    return [name_of(f.uri) for f in found.to_read]


@pytest.mark.parametrize(
    ("listed", "changed", "expected_reads", "not_staged"),
    [
        # Scenes 2 to 6: what differs from the session is added, rewritten or deleted.
        ((F1, F2, F3, F4, F5, file("F6")), {"F6": Fate.JOINS}, ["F3", "F4", "F5", "F6"], 3),
        ((F1, F2, file("F3", 2), F4, F5), {"F3": Fate.READ_REWRITTEN}, ["F3", "F4", "F5"], 3),
        ((file("F1", 2), F2, F3, F4, F5), {"F1": Fate.KEPT_REWRITTEN}, ["F3", "F4", "F5"], 3),
        ((F2, F3, F4, F5), {"F1": Fate.DROPPED}, ["F3", "F4", "F5"], 3),
        ((F1, F2, F4, F5), {"F3": Fate.DROPPED}, ["F4", "F5"], 2),
    ],
)
def test_what_a_retry_does_with_each_file(
    listed: tuple[FileInfo, ...], changed: dict[str, Fate], expected_reads: list[str], not_staged: int
) -> None:
    found = retry(*listed)
    unchanged = {**dict.fromkeys(("F1", "F2"), Fate.KEPT), **dict.fromkeys(("F3", "F4", "F5"), Fate.READ)}
    assert fates(found) == {**unchanged, **changed}
    assert (reads(found), found.not_staged) == (expected_reads, not_staged)
    assert set(found.to_read) <= set(listed), "in their current versions"


def test_counts_of_a_retry() -> None:
    found = retry(F1, F2, F3, F4, F5, file("F6"))
    assert (found.not_staged, found.subtasks, found.bytes_to_read) == (3, 2, 40)
    assert found.fate is not None
    assert found.fate.counts() == {"kept": 2, "to_read": 3, "joining": 1}


def test_subtasks_are_unknown_if_only_the_run_can_count_them() -> None:
    found = retry(F1, F2, F3, F4, F5, file("F6"), slots=None)
    assert reads(found) == ["F3", "F4", "F5", "F6"]
    assert found.subtasks is None


def test_files_that_share_a_segment_with_a_deleted_file_are_read_again() -> None:
    together = replace(AFTER_SCENE_1, builds=(build(0, 1),))
    found = retry(F2, F3, F4, F5, group=together)
    assert (fates(found)["F1"], fates(found)["F2"]) == (Fate.DROPPED, Fate.READ_AGAIN)
    assert reads(found) == ["F2", "F3", "F4", "F5"]
    assert found.not_staged == 4


def test_a_skipped_file_stays_skipped() -> None:
    found = retry(F1, F2, F3, F4, F5, group=F3_SKIPPED)
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
    of_both = {"of_both": (F1, F3)}
    found = retry(F1, F2, F3, F4, F5, group=F3_SKIPPED, enableSync="true", in_table=of_both)
    assert found.replaced == ()
    assert found.conflict is not None
    assert "of_both" in found.conflict


def test_subtasks_are_limited_as_in_the_run() -> None:
    new = [file(f"G{n}") for n in range(10)]
    assert retry(F1, F2, F3, F4, F5, *new, taskMaxNumFilesPerTask="2").subtasks == 6
    assert retry(F1, F2, F3, F4, F5, *new, taskMaxNumFilesPerTask="2", tableMaxNumTasks="4").subtasks == 4
