"""Display of the consumption of tables."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.consumption import PartitionState, TableState, TableStatus
from controller_client.consumption.state.pause_record import Holder
from controller_client.consumption.state.status import PartitionStatus
from controller_client.helix.ideal_state import PinotPause
from controller_client.stream.topics import TopicPartition
from pinotctl.commands.consumption_view import resume_notes, show, watch
from pinotctl.output import Output, OutputFormat
from tests.unit.fake_clock import FakeClock

PARTITION = PartitionStatus(
    0,
    PartitionState.PAUSED,
    "t__0__1__20260101T0000Z",
    offset="10",
    committed_offset="10",
    latest_offset=40,
    lag=30,
    lost=(10, 15),
    segment_created_ms=1_700_000_000_000,
)
UNKNOWN = PartitionStatus(1, PartitionState.CONSUMING, servers=("s1", "s2"))
STATUS = TableStatus(
    TableName("t_REALTIME"),
    TableState.PAUSING,
    (PARTITION, UNKNOWN),
    (Holder("me", 1_700_000_000_000, "why", "more"),),
    foreign=True,
    pinot_pause=PinotPause("ADMINISTRATIVE", "a word"),
    stream_problem="half of the offsets are unknown",
)


def shown_json(status: TableStatus, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    show(Output(OutputFormat.JSON), [status])
    (document,) = json.loads(capsys.readouterr().out)
    return dict(document)


def test_people_see_partitions_and_who_paused(capsys: pytest.CaptureFixture[str]) -> None:
    show(Output(), [STATUS])
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:6] == ["t_REALTIME", "0", "paused", "10", "30", "2023-11-14T22:13:20Z"]
    assert "the stream has dropped 5 unread offsets: 10 to 14" in out
    assert lines[2] == ["t_REALTIME", "1", "consuming", "-", "-", "-", "s1,", "s2"]
    assert err.splitlines() == [
        "t_REALTIME: pausing",
        "  paused by me at 2023-11-14T22:13:20Z (why: more)",
        "  Pinot reports: ADMINISTRATIVE, a word",
        "  it had already been paused, and who did it is not recorded",
        "  half of the offsets are unknown",
    ]


def test_the_note_has_the_streams_partition_and_unbuilt_segments(capsys: pytest.CaptureFixture[str]) -> None:
    building = replace(
        UNKNOWN,
        partition=10_001,
        topic_partition=TopicPartition("clicks", 1),
        building=("t__10001__4__20260101T0000Z",),
    )
    status = replace(STATUS, partitions=(building,))
    show(Output(), [status])
    note = "partition 1 of clicks; not yet built: t__10001__4__20260101T0000Z"
    assert note in capsys.readouterr().out
    document = shown_json(status, capsys)
    assert document["partitions"][0]["topic_partition"] == {"topic": "clicks", "partition": 1}
    assert document["partitions"][0]["building"] == ["t__10001__4__20260101T0000Z"]


def test_a_pause_of_pinots_own_and_a_paused_topic(capsys: pytest.CaptureFixture[str]) -> None:
    by_quota = PinotPause(
        "STORAGE_QUOTA_EXCEEDED", "Storage quota of 1K exceeded.", "2026-11-23 15:01:02.345"
    )
    status = replace(STATUS, holders=(), pinot_pause=by_quota, paused_topics={1: "clicks"}, foreign=False)
    show(Output(), [status])
    assert capsys.readouterr().err.splitlines()[1:4] == [
        "  Pinot reports: STORAGE_QUOTA_EXCEEDED, Storage quota of 1K exceeded., 2026-11-23 15:01:02.345",
        (
            "  Pinot paused it on its own: delete segments, or raise quota.storage in the table's config; "
            "Pinot then resumes the table in its next check (hourly by default)"
        ),
        "  topic clicks (index 1) is paused separately",
    ]
    assert shown_json(status, capsys)["paused_topics"] == [{"index": 1, "topic": "clicks"}]


def test_what_a_resume_would_do() -> None:
    status = replace(STATUS, paused_topics={1: "clicks"})
    assert list(resume_notes(status, "smallest")) == [
        "t_REALTIME is pausing; it would be resumed from smallest.",
        "  topic clicks (index 1) is paused separately and stays paused",
        "  partition 0: the stream has dropped offsets 10 to 14; they can no longer be read",
        "  cannot determine whether rows are lost: half of the offsets are unknown",
    ]
    by_pinot = replace(STATUS, pinot_pause=PinotPause("STORAGE_QUOTA_EXCEEDED"))
    first, remedy = resume_notes(by_pinot, "smallest")
    assert first.endswith(": pausing by Pinot itself (STORAGE_QUOTA_EXCEEDED), so a resume is refused.")
    assert "raise quota.storage" in remedy


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = shown_json(STATUS, capsys)
    assert (document["state"], document["partitions"][1]["state"]) == ("pausing", "consuming")
    assert document["paused"] == [
        {"by": "me", "since_ms": 1_700_000_000_000, "reason": "why", "comment": "more"}
    ]
    assert document["partitions"][0]["lost"] == [10, 15]


def test_without_a_terminal_each_change_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    further = replace(STATUS, partitions=(PARTITION, replace(UNKNOWN, offset="7", lag=0)))
    seen = [[STATUS], [STATUS], [further], [replace(further, state=TableState.PAUSED)]]
    readings = iter(seen)
    clock = FakeClock()
    watch(Output(), lambda: next(readings), clock, 2.0, rounds=4)
    assert capsys.readouterr().out.splitlines() == [
        "t_REALTIME pausing",
        (
            "t_REALTIME partition 0: paused, offset 10, 30 behind "
            "(the stream has dropped 5 unread offsets: 10 to 14)"
        ),
        "t_REALTIME partition 1: consuming, offset -",
        "t_REALTIME partition 1: consuming, offset 7, 0 behind",
        "t_REALTIME paused",
    ]
    assert clock.sleeps == [2.0, 2.0, 2.0]
    readings = iter(seen)
    watch(Output(OutputFormat.JSON), lambda: next(readings), clock, 2.0, rounds=4)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["state"], each["partitions"][1]["offset"]) for each in lines] == [
        ("pausing", None),
        ("pausing", "7"),
        ("paused", "7"),
    ]


def test_a_terminal_shows_it_in_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    watch(Output(), lambda: [STATUS], FakeClock(), 2.0, rounds=2)
    out = capsys.readouterr().out
    assert "\x1b[" in out, "the cursor moves back"
    assert "paused by me at 2023-11-14T22:13:20Z (why: more)" in out
    assert out.count("t_REALTIME: pausing") >= 2
