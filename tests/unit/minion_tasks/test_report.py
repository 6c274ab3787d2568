"""The figures that `pinotctl task session` computes from a ledger, and its page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.common.text import bytes_text
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from minion_tasks.file_ingestion.report.counts import (
    Histogram,
    SessionReport,
    count_attempts,
    count_session,
    histogram,
    read_report,
    seconds_text,
)
from minion_tasks.file_ingestion.report.page import outcome, page
from minion_tasks.file_ingestion.session.model import (
    ColumnNote,
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedBuild,
)
from tests.support.tiers import FULL
from tests.unit.minion_tasks.samples import make_session, make_store

BEGAN = 1_700_000_000_000
HOUR = 3_600_000
SESSION = make_session(
    state=SessionState.IN_PROGRESS,
    created_ms=BEGAN,
    updated_ms=BEGAN + HOUR + 5000,
    source="s3://bucket/in/",
    staging_uri="s3://bucket/staging/s1",
    files=5,
    total_bytes=1500,
    groups=2,
    numbers=5,
    attempts_ms=(BEGAN, BEGAN + HOUR),
    retry_count=1,
)


def file(number: int) -> FileInfo:
    return FileInfo(f"s3://bucket/in/{number}.csv", 100 * (number + 1), BEGAN)


def staged(name: str, rows: int = 10, build_s: float = 1.0, reader: str = "arrow") -> StagedSegment:
    reason = "a column needs it" if reader == "pinot" else None
    return StagedSegment(name, f"s3://bucket/staging/s1/{name}", 1, rows, 50, 400, build_s, reader, reason)


GROUPS = (
    FileGroup(
        0,
        (
            FileEntry(0, file(0), FileStatus.STAGED, ended_ms=BEGAN + 1000),
            FileEntry(1, file(1), FileStatus.STAGED, ended_ms=BEGAN + 1000),
            FileEntry(2, file(2), FileStatus.FAILED, "s3://bucket/in/2.csv: row 7", BEGAN + HOUR + 2000),
        ),
        (StagedBuild((0, 1), (staged("a"), staged("b", 5, 0.5))),),
    ),
    FileGroup(
        1,
        (
            FileEntry(3, file(3), FileStatus.STAGED, ended_ms=BEGAN + HOUR + 1000),
            FileEntry(4, file(4)),
        ),
        (StagedBuild((3,), (staged("c", 2, 4.0, "pinot"),)),),
    ),
)


def counted(session: Session = SESSION, groups: Sequence[FileGroup] = GROUPS) -> SessionReport:
    return count_session(session, groups, ())


def test_counts_and_sums_of_a_session() -> None:
    report = counted()
    assert report.files == {
        FileStatus.PENDING: 1,
        FileStatus.STAGED: 3,
        FileStatus.FAILED: 1,
        FileStatus.SKIPPED: 0,
    }
    assert (report.source_bytes, report.staged_source_bytes) == (1500, 700)
    assert (report.rows, report.segments, report.tar_bytes, report.segment_bytes) == (17, 3, 150, 1200)
    assert report.unread == 2
    assert [(f.uri, f.error) for f in report.failures] == [
        ("s3://bucket/in/2.csv", "s3://bucket/in/2.csv: row 7")
    ]
    assert report.readers == {"arrow": 2, "pinot": 1}
    assert report.fallback_reasons == {"a column needs it": 1}
    assert report.replaced is None
    slowest = report.slowest
    assert [(build.uri, build.files, build.rows, build.build_s) for build in slowest] == [
        ("s3://bucket/in/3.csv", 1, 2, 4.0),
        ("s3://bucket/in/0.csv", 2, 15, 1.5),
    ]


def test_the_same_figures_are_read_from_the_store() -> None:
    sessions = make_store()[0]
    session = sessions.create(replace(SESSION, state=SessionState.SWITCH))
    for group in GROUPS:
        sessions.create_group("s1", group)
    pages = sessions.write_from("s1", ["old_1", "old_2", "old_3"])
    session = sessions.save(replace(session, from_pages=pages))
    report = read_report(sessions, session, names=2)
    assert (report.rows, report.segments, report.first_segments) == (17, 3, ("a", "b"))
    assert (report.replaced, report.first_replaced) == (3, ("old_1", "old_2"))


def test_an_incomplete_plan_is_not_read() -> None:
    sessions = make_store()[0]
    session = sessions.create(replace(SESSION, state=SessionState.INIT))
    assert sum(read_report(sessions, session).files.values()) == 0


def test_an_empty_segment_counts_only_if_it_is_the_only_one() -> None:
    empty = FileGroup(2, (), (StagedBuild((), (staged("nothing", 0),)),), empty_segment=True)
    assert counted(groups=[*GROUPS, empty]).segments == 3
    alone = counted(groups=[empty])
    assert (alone.segments, alone.rows, alone.first_segments) == (1, 0, ("nothing",))


def test_each_attempt_has_its_files() -> None:
    first, retry = counted().attempts
    assert (first.number, first.staged, first.failed, first.last_ms) == (0, 2, 0, BEGAN + 1000)
    assert first.staged_steps == ((BEGAN + 1000, 1), (BEGAN + 1000, 2))
    assert (retry.number, retry.staged, retry.failed, retry.last_ms) == (1, 1, 1, BEGAN + HOUR + 2000)
    assert retry.staged_steps == ((BEGAN + HOUR + 1000, 3),)
    assert retry.failed_steps == ((BEGAN + HOUR + 2000, 1),)


def test_times_of_a_slow_minion_clock_belong_to_the_first_attempt() -> None:
    first, retry = count_attempts(SESSION, [BEGAN - 500], [])
    assert (first.staged, retry.staged) == (1, 0)


@given(st.lists(st.integers(BEGAN, BEGAN + 2 * HOUR), max_size=2000))
def test_a_chart_has_few_steps_and_includes_the_last(times: list[int]) -> None:
    attempts = count_attempts(SESSION, times, [])
    assert sum(attempt.staged for attempt in attempts) == len(times)
    reached = 0
    for attempt in attempts:
        assert len(attempt.staged_steps) <= 240
        assert list(attempt.staged_steps) == sorted(attempt.staged_steps)
        reached += attempt.staged
        if attempt.staged_steps:
            assert attempt.staged_steps[-1] == (attempt.last_ms, reached)


@given(st.lists(st.integers(0, 2**45), min_size=1, max_size=200))
def test_each_size_is_in_one_bin(sizes: list[int]) -> None:
    found = histogram(sizes)
    assert found is not None
    assert len(found.bins) <= 16
    for low, high, count in found.bins:
        assert count == sum(low <= size < high for size in sizes)
    assert sum(count for _, _, count in found.bins) == len(sizes)
    assert (found.smallest, found.largest) == (min(sizes), max(sizes))


def test_sizes_that_double_have_bins_that_double() -> None:
    assert histogram([]) is None
    assert histogram([1024, 1500, 4096]) == Histogram(
        ((1024, 2048, 2), (2048, 4096, 0), (4096, 8192, 1)), 1024, 4096, 1500
    )


def test_formatted_sizes_and_durations() -> None:
    sizes = {0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 5 * 2**30: "5 GiB"}
    assert {size: bytes_text(size) for size in sizes} == sizes
    durations = {0: "0.0 s", 89.94: "89.9 s", 200: "3 min 20 s", 7500: "2 h 5 min"}
    assert {seconds: seconds_text(seconds) for seconds in durations} == durations


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (SESSION, "3 of 5 files staged; queries see the table as it was before."),
        (
            replace(SESSION, abandoned=True),
            "The session was discarded; queries see the table as it was before.",
        ),
        (
            replace(SESSION, state=SessionState.DONE),
            "17 rows of 3 files became queryable in one step, in 3 segments.",
        ),
        (
            replace(SESSION, state=SessionState.DONE, atomic=False),
            "17 rows of 3 files became queryable, in 3 segments.",
        ),
        (
            replace(SESSION, state=SessionState.SWITCH),
            "All files are staged; the switch is not finished.",
        ),
        (
            replace(SESSION, state=SessionState.REJECTED),
            "All files are staged, but do not pass the checks; queries see the table as it was before.",
        ),
    ],
)
def test_the_outcome_in_a_sentence(session: Session, expected: str) -> None:
    assert outcome(counted(session)) == expected


def test_the_outcome_counts_replaced_segments() -> None:
    done = count_session(replace(SESSION, state=SessionState.DONE), GROUPS, ["old"])
    assert outcome(done).endswith("in 3 segments, and 1 segment was replaced.")


class Page(HTMLParser):
    """Parses the page as a browser does; an unclosed element is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def test_the_page_shows_the_session() -> None:
    session = replace(SESSION, message="1 of 5 files could not be ingested")
    shown = Page(page(counted(session), now_ms=BEGAN + 2 * HOUR, next_does="starts over: because"))
    for words in (
        "t_OFFLINE",
        "IN_PROGRESS",
        "1 of 5 files could not be ingested",
        "The next trigger starts over: because.",
        "s3://bucket/in/2.csv",
        "row 7",
        "retry 1",
        "1 staged, 1 failed",
        "a column needs it",
        "s3://bucket/staging/s1",
        "2023-11-14 22:13:20Z",
    ):
        assert words in shown.text, words


@pytest.mark.parametrize("state", list(SessionState))
@pytest.mark.parametrize("groups", [(), GROUPS], ids=["no files", "files"])
def test_every_state_has_its_page(state: SessionState, groups: Sequence[FileGroup]) -> None:
    session = replace(SESSION, state=state, attempts_ms=())
    shown = Page(page(counted(session, groups), now_ms=BEGAN))
    assert state.value in shown.text


def test_file_names_and_errors_are_escaped() -> None:
    evil = "<script>alert(1)</script>\"'&<img src=http://evil/x>"
    entries = (
        FileEntry(0, FileInfo(f"s3://b/{evil}", 1, 1), FileStatus.FAILED, evil, BEGAN),
        FileEntry(1, FileInfo(f"s3://b/{evil}2", 1, 1), FileStatus.STAGED, None, BEGAN),
    )
    segment = replace(staged(evil), reader=evil, fallback_reason=evil)
    session = replace(
        SESSION,
        table=TableName(f"{evil}_OFFLINE"),
        session_id=evil,
        source=evil,
        message=evil,
        owner=evil,
        entry_id=evil,
    )
    groups = [FileGroup(0, entries, (StagedBuild((1,), (segment,)),))]
    shown = Page(page(count_session(session, groups, [evil]), now_ms=BEGAN, next_does=evil))
    assert shown.tags.count("script") == 1, "the page's own"
    assert "img" not in shown.tags
    assert evil in shown.text


def test_control_characters_in_names_are_made_visible() -> None:
    name = "file:///in/\x1b[31m\u202egpj.exe\n\udcff<b>.csv"
    entries = (FileEntry(0, FileInfo(name, 1, 1), FileStatus.FAILED, "\x1b]0;title\x07 row 7\nfield x"),)
    build = StagedBuild((1,), (staged("a"),), (ColumnNote("\u2066Word", False, 1, 1),))
    other = FileEntry(1, FileInfo(name + "2", 1, 1), FileStatus.STAGED)
    text = page(count_session(SESSION, [FileGroup(0, (*entries, other), (build,))], []), now_ms=BEGAN)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert text.encode()
    shown = Page(text).text
    for words in (
        r"/in/\x1b[31m\u202egpj.exe\n\xff<b>.csv",
        "\\x1b]0;title\\x07 row 7\nfield x",
        r"\u2066Word",
    ):
        assert words in shown


def test_the_page_shows_how_columns_differ() -> None:
    notes = (ColumnNote("word", True, 2, 0), ColumnNote("Word", False, 2, 0), ColumnNote("else", False, 1, 1))
    builds = (replace(GROUPS[0].builds[0], columns=notes),)
    report = counted(groups=[replace(GROUPS[0], builds=builds), GROUPS[1]])
    assert [(each.name, each.files, each.near) for each in report.columns] == [
        ("word", 2, "Word"),
        ("Word", 2, "word"),
        ("else", 1, None),
    ]
    text = Page(page(report, now_ms=BEGAN)).text
    assert "Columns that differ" in text
    assert "word missing 2 s3://bucket/in/0.csv Word" in " ".join(text.split())
    assert "Columns that differ" not in Page(page(counted(), now_ms=BEGAN)).text


def test_the_page_is_self_contained() -> None:
    shown = Page(page(counted(), now_ms=BEGAN))
    assert not {"link", "img", "iframe", "object", "image", "use"} & set(shown.tags)
    assert shown.tags.count("script") == 1, "the page's own, which the policy names by its hash"
    assert not {"src", "href", "xlink:href", "onclick", "onload"} & {name for name, _ in shown.attributes}
    (policy,) = [value for _, value in shown.attributes if value and "default-src" in value]
    *allowed, script = policy.split("; ")
    none = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    assert allowed == [*none, "style-src 'unsafe-inline'"]
    assert script.startswith("script-src 'sha256-")


@pytest.mark.parametrize("thousands", [30, pytest.param(100, marks=FULL)])
def test_a_page_of_many_files_is_small(thousands: int) -> None:
    uri = "s3://a-bucket-with-a-name/some/long/folder/2013/12/31/part-{:06d}-abcdef.json.gz"
    error = "x" * 1000  # as much as the ledger keeps

    def group(number: int) -> FileGroup:
        numbers = range(number * 500, number * 500 + 500)
        entries = tuple(
            FileEntry(
                n,
                FileInfo(uri.format(n), n * 977, 1),
                FileStatus.FAILED if n % 3 == 0 else FileStatus.STAGED,
                error if n % 3 == 0 else None,
                BEGAN + n,
            )
            for n in numbers
        )
        builds = tuple(StagedBuild((n,), (staged(f"t_{n:09d}", n),)) for n in numbers if n % 3)
        return FileGroup(number, entries, builds)

    session = replace(
        SESSION, state=SessionState.DONE, message=error, attempts_ms=tuple(range(BEGAN, BEGAN + 50))
    )
    report = count_session(
        session, map(group, range(2 * thousands)), [f"old_{n:09d}" for n in range(1000 * thousands)]
    )
    text = page(report, now_ms=BEGAN)
    assert len(text.encode()) < 500_000
    shown = Page(text)
    failed, files = {30: ("10,000", "20,000"), 100: ("33,334", "66,666")}[thousands], f"{thousands},000"
    for words in (files, f"{failed[0]} failed", f"{failed[1]} segments added", f"{files} segments replaced"):
        assert words in shown.text, words
