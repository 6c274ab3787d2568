"""The subtask's loop over its group: builds, failures, skipped files, the end, concurrent attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from controller_client.errors import DataError, NotAppliedError
from controller_client.filestore import FileInfo
from jvm_bridge.builder import UnreadableFileError
from minion_tasks.file_ingestion.engine.group_run import GroupRun, SubtaskFailedError, merge_result
from minion_tasks.file_ingestion.engine.staging_builder import BuildResult
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedBuild,
    abandon,
)
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore
from tests.unit.minion_tasks.samples import file, make_params, make_session, make_store, segment

PENDING, STAGED, FAILED, SKIPPED = FileStatus
ONE_EACH = make_params(enableSync="true")
TOGETHER = make_params(desiredSegmentSize="100")
SKIPPING = make_params(enableSync="true", skipFileIfFailToInitReader="true")
FILES = tuple(file(f"{name}.csv", size=40) for name in "abcd")


class Builder:
    """Stages files together except those with an error, with the same names as the real builder."""

    def __init__(
        self,
        errors: dict[int, Exception] | None = None,
        *,
        attempt: str = "one",
        size: int = 40,
        before: Callable[[Sequence[FileEntry]], None] = lambda _entries: None,
    ) -> None:
        self._errors = errors or {}
        self._attempt = attempt
        self._size = size
        self._before = before
        self.asked: list[list[int]] = []

    def __call__(self, entries: Sequence[FileEntry]) -> BuildResult:
        numbers = [entry.number for entry in entries]
        self.asked.append(numbers)
        self._before(entries)
        failures = {number: self._errors[number] for number in numbers if number in self._errors}
        good = tuple(number for number in numbers if number not in failures)
        if not good:
            return BuildResult(None, failures)
        made = segment(f"t_s1_{numbers[0]:06d}", attempt=self._attempt, size=self._size * len(good))
        return BuildResult(StagedBuild(good, (made,)), failures)

    def empty(self, number: int) -> BuildResult:
        self.asked.append([])
        made = segment(f"t_s1_{number:06d}", rows=0, attempt=self._attempt)
        return BuildResult(StagedBuild((), (made,)))


def ledger(
    files: Sequence[FileInfo] = FILES, *, retry_count: int = 0
) -> tuple[SessionStore, MemoryPropertyStore]:
    sessions, memory = make_store()
    sessions.create(make_session(state=SessionState.IN_PROGRESS, groups=1, retry_count=retry_count))
    sessions.create_group("s1", FileGroup(0, tuple(FileEntry(n, each) for n, each in enumerate(files))))
    return sessions, memory


def run(
    sessions: SessionStore,
    build: Builder,
    params: FileIngestionParams = ONE_EACH,
    *,
    attempt: int = 0,
    is_cancelled: Callable[[], bool] = lambda: False,
    clock: FakeClock | None = None,
) -> None:
    given = {"attempt": attempt, "build": build, "params": params, "clock": clock or FakeClock()}
    GroupRun(sessions, "s1", 0, is_cancelled=is_cancelled, **given).run()  # type: ignore[arg-type]


def statuses(sessions: SessionStore) -> list[FileStatus]:
    return [entry.status for entry in sessions.group("s1", 0).entries]


def builds(sessions: SessionStore) -> list[tuple[int, ...]]:
    return [build.files for build in sessions.group("s1", 0).builds]


def test_one_to_one_each_file_is_a_build() -> None:
    clock = FakeClock()
    sessions, _ = ledger()
    run(sessions, Builder())
    assert statuses(sessions) == [STAGED] * 4
    assert builds(sessions) == [(0,), (1,), (2,), (3,)]
    assert sessions.group("s1", 0).entries[0].ended_ms == int(clock.now() * 1000)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        # The first build is sized by the files, the next ones by the segments built from earlier files.
        (1.0, [(0, 1), (2, 3), (4, 5), (6, 7)]),
        (0.5, [(0, 1), (2, 3, 4, 5, 6), (7,)]),
        (10.0, [(0, 1), (2,), (3,), (4,), (5,), (6,), (7,)]),
    ],
)
def test_files_are_combined_until_they_fill_a_segment(ratio: float, expected: list[tuple[int, ...]]) -> None:
    sessions, _ = ledger([file(str(n), size=40) for n in range(8)])
    run(sessions, Builder(size=int(40 * ratio)), TOGETHER)
    assert builds(sessions) == expected


def test_a_file_that_is_larger_than_a_segment_is_alone() -> None:
    sessions, _ = ledger([file("a", size=500), file("b", size=10), file("c", size=500)])
    run(sessions, Builder(), TOGETHER)
    assert statuses(sessions) == [STAGED] * 3
    assert builds(sessions)[0] == (0,)


def test_one_bad_file_does_not_affect_the_others() -> None:
    sessions, _ = ledger()

    def crash(entries: Sequence[FileEntry]) -> None:
        if entries[0].number == 2:
            raise RuntimeError("a fault of ours")

    build = Builder({1: DataError("row 7: the field 'n' is 'x'", expected="INT")}, before=crash)
    with pytest.raises(SubtaskFailedError, match="2 of 4 files failed"):
        run(sessions, build)
    assert statuses(sessions) == [STAGED, FAILED, FAILED, STAGED]
    errors = [entry.error or "" for entry in sessions.group("s1", 0).entries]
    assert "b.csv" in errors[1]
    assert "row 7" in errors[1]
    assert "c.csv" in errors[2]
    assert "RuntimeError" in errors[2]
    assert build.asked == [[0], [1], [2], [3]], "a file that failed is not tried again"


def test_a_bad_file_is_left_out_of_its_build() -> None:
    sessions, _ = ledger()
    with pytest.raises(SubtaskFailedError, match="1 of 4 files failed"):
        run(sessions, Builder({0: DataError("broken")}), TOGETHER)
    assert statuses(sessions) == [FAILED, STAGED, STAGED, STAGED]
    assert builds(sessions)[0] == (1,)


def test_a_fault_not_caused_by_a_file_is_reported_with_each_affected_file() -> None:
    sessions, _ = ledger()

    def full(_entries: Sequence[FileEntry]) -> None:
        raise OSError("no space left on device")

    with pytest.raises(SubtaskFailedError, match="4 of 4"):
        run(sessions, Builder(before=full), TOGETHER)
    assert all("no space left" in (e.error or "") for e in sessions.group("s1", 0).entries)


@pytest.mark.parametrize(
    ("params", "error", "expected"),
    [
        (SKIPPING, UnreadableFileError("no header"), SKIPPED),
        (SKIPPING, DataError("row 7"), FAILED),
        (SKIPPING, OSError("disk"), FAILED),
        (ONE_EACH, UnreadableFileError("no header"), FAILED),
    ],
)
def test_only_a_file_that_its_reader_cannot_open_is_skipped_and_only_if_asked(
    params: FileIngestionParams, error: Exception, expected: FileStatus
) -> None:
    sessions, _ = ledger()
    if expected is FAILED:
        with pytest.raises(SubtaskFailedError):
            run(sessions, Builder({1: error}), params)
    else:
        run(sessions, Builder({1: error}), params)
    assert statuses(sessions) == [STAGED, expected, STAGED, STAGED]
    assert "b.csv" in (sessions.group("s1", 0).entries[1].error or "")


def test_files_with_a_result_are_not_built_again() -> None:
    sessions, _ = ledger()
    first = sessions.group("s1", 0)
    made = StagedBuild((1,), (segment("t_s1_000001"),))
    entries = list(first.entries)
    entries[1] = replace(entries[1], status=STAGED)
    entries[2] = replace(entries[2], status=SKIPPED)
    sessions.change_group("s1", 0, lambda _group: replace(first, entries=tuple(entries), builds=(made,)))
    build = Builder()
    run(sessions, build)
    assert build.asked == [[0], [3]]
    assert builds(sessions) == [(1,), (0,), (3,)]


def empty_ledger() -> SessionStore:
    sessions, _ = make_store()
    sessions.create(make_session(state=SessionState.IN_PROGRESS, groups=1))
    sessions.create_group("s1", FileGroup(0, (), empty_segment=True))
    return sessions


def test_an_empty_segment_is_built_once() -> None:
    sessions, build = empty_ledger(), Builder()
    run(sessions, build)
    run(sessions, build)
    assert build.asked == [[]]
    assert [made.rows for made in sessions.group("s1", 0).segments] == [0]


def test_an_empty_segment_that_cannot_be_built_is_an_error() -> None:
    sessions = empty_ledger()

    class Broken(Builder):
        def empty(self, number: int) -> BuildResult:
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        run(sessions, Broken())
    assert not sessions.group("s1", 0).is_settled


def test_a_cancelled_subtask_keeps_its_results() -> None:
    sessions, _ = ledger()
    build = Builder()
    with pytest.raises(NotAppliedError, match="cancelled"):
        run(sessions, build, is_cancelled=lambda: len(build.asked) == 2)
    assert statuses(sessions) == [STAGED, STAGED, PENDING, PENDING]


@pytest.mark.parametrize("change", ["abandoned", "switched", "taken up"])
def test_a_subtask_that_is_no_longer_needed_stops_and_writes_nothing(change: str) -> None:
    sessions, memory = ledger()
    written: list[int] = []

    def end(entries: Sequence[FileEntry]) -> None:
        if entries[0].number == 1:
            session = sessions.load("s1")
            after = {
                "abandoned": abandon(session, "x", 2),
                "switched": replace(session, state=SessionState.SWITCH),
                "taken up": replace(session, retry_count=1),
            }[change]
            sessions.save(after)
            written.append(memory.writes)

    build = Builder(before=end)
    with pytest.raises(NotAppliedError, match="no longer needed"):
        run(sessions, build)
    assert build.asked == [[0], [1]]
    assert statuses(sessions) == [PENDING] * 4
    assert memory.writes == written[0]


@pytest.mark.parametrize("retry_count", [0, 2])
def test_a_subtask_of_another_attempt_does_not_begin(retry_count: int) -> None:
    sessions, _ = ledger(retry_count=retry_count)
    build = Builder()
    with pytest.raises(NotAppliedError, match=f"attempt {retry_count}"):
        run(sessions, build, attempt=1)
    assert build.asked == []


def test_the_ledger_is_written_every_two_seconds_and_at_the_end() -> None:
    clock = FakeClock()
    sessions, memory = ledger([file(str(n)) for n in range(10)])
    before, writes = memory.writes, list[int]()

    def half_a_second(_entries: Sequence[FileEntry]) -> None:
        writes.append(memory.writes - before)
        clock.advance(0.5)

    run(sessions, Builder(before=half_a_second), clock=clock)
    assert writes == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert memory.writes - before == 3
    assert statuses(sessions) == [STAGED] * 10


def test_the_first_result_of_two_concurrent_attempts_wins() -> None:
    sessions, _ = ledger()

    def run_the_other(entries: Sequence[FileEntry]) -> None:
        if entries[0].number == 3:
            run(sessions, Builder(attempt="two"))

    run(sessions, Builder(before=run_the_other))
    assert statuses(sessions) == [STAGED] * 4
    uris = [made.tar_uri for made in sessions.group("s1", 0).segments]
    assert len(uris) == 4
    assert all(".two." in uri for uri in uris)


def test_two_attempts_with_different_builds_do_not_duplicate_files() -> None:
    sessions, _ = ledger()

    def run_the_other(entries: Sequence[FileEntry]) -> None:
        if entries[0].number == 0 and len(entries) == 2:
            # The other attempt takes only the first file and is then cancelled.
            other = Builder(attempt="two")
            with pytest.raises(NotAppliedError, match="cancelled"):
                run(sessions, other, is_cancelled=lambda: len(other.asked) == 1)

    run(sessions, Builder(before=run_the_other), TOGETHER)
    assert statuses(sessions) == [STAGED] * 4
    assert sorted(number for build in builds(sessions) for number in build) == [0, 1, 2, 3]
    names = [made.name for made in sessions.group("s1", 0).segments]
    assert len(set(names)) == len(names)


def test_a_failure_of_one_attempt_does_not_undo_the_success_of_another() -> None:
    sessions, _ = ledger()

    def run_the_other(entries: Sequence[FileEntry]) -> None:
        if entries[0].number == 1:
            run(sessions, Builder(attempt="two"))

    run(sessions, Builder({1: DataError("a passing fault")}, before=run_the_other))
    assert statuses(sessions) == [STAGED] * 4


def test_a_segment_name_used_by_another_attempt_for_other_files_is_a_failure() -> None:
    sessions, _ = ledger()
    first = sessions.group("s1", 0)
    entries = (replace(first.entries[0], status=STAGED), *first.entries[1:])
    taken = StagedBuild((0,), (segment("t_s1_000001"),))
    sessions.change_group("s1", 0, lambda _group: replace(first, entries=entries, builds=(taken,)))
    build = Builder()
    with pytest.raises(SubtaskFailedError, match="1 of 4 files failed"):
        run(sessions, build, is_cancelled=lambda: len(build.asked) > 20)
    assert statuses(sessions) == [STAGED, FAILED, STAGED, STAGED]
    assert "b.csv: another attempt" in (sessions.group("s1", 0).entries[1].error or "")
    assert build.asked == [[1], [2], [3]]


def _group(*found: FileStatus, builds: tuple[StagedBuild, ...] = ()) -> FileGroup:
    return FileGroup(0, tuple(FileEntry(n, file(str(n)), status) for n, status in enumerate(found)), builds)


def _build(*numbers: int, name: str = "new", attempt: str = "one") -> StagedBuild:
    return StagedBuild(numbers, (segment(name, attempt=attempt),))


def _merged(group: FileGroup, built: BuildResult) -> FileGroup:
    return merge_result(group, built, 9, skip_unreadable=False)


def test_a_result_is_merged_with_its_time() -> None:
    merged = _merged(_group(PENDING, PENDING), BuildResult(_build(0), {1: DataError("it is broken")}))
    assert [(e.status, e.ended_ms) for e in merged.entries] == [(STAGED, 9), (FAILED, 9)]
    assert merged.builds == (_build(0),)
    assert merged.entries[1].error is not None
    assert "it is broken" in merged.entries[1].error


def test_merging_a_result_is_idempotent() -> None:
    built = BuildResult(_build(0), {1: DataError("it is broken")})
    once = _merged(_group(PENDING, PENDING), built)
    assert merge_result(once, built, 10, skip_unreadable=False) == once


@pytest.mark.parametrize("other", [STAGED, FAILED, SKIPPED])
def test_a_build_with_a_file_that_already_has_a_result_is_ignored(other: FileStatus) -> None:
    group = _group(other, PENDING)
    assert _merged(group, BuildResult(_build(0, 1))) == group


def test_a_failure_of_a_file_that_already_has_a_result_is_ignored() -> None:
    group = _group(STAGED, PENDING, builds=(_build(0),))
    assert _merged(group, BuildResult(None, {0: DataError("late")})) == group


def test_the_first_empty_segment_wins() -> None:
    group = FileGroup(0, (), empty_segment=True)
    first = _merged(group, BuildResult(_build(attempt="one")))
    assert first.builds == (_build(attempt="one"),)
    assert _merged(first, BuildResult(_build(attempt="two"))) == first
