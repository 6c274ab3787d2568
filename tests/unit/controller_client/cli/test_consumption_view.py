"""How the consumption of tables is shown."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from controller_client.cli.commands.consumption_view import show, watch
from controller_client.cli.output import Output, OutputFormat
from controller_client.common.names import TableName
from controller_client.consumption import PartitionState, TableState, TableStatus
from controller_client.consumption.pause_record import Holder
from controller_client.consumption.status import PartitionStatus
from controller_client.helix.ideal_state import PinotPause
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
    stream_problem="half of it is not known",
)


def test_people_see_partitions_and_who_paused(capsys: pytest.CaptureFixture[str]) -> None:
    show(Output(), [STATUS])
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:6] == ["t_REALTIME", "0", "paused", "10", "30", "2023-11-14T22:13:20Z"]
    assert "the stream has dropped the 5 offsets 10 to 14 unread" in out
    assert lines[2] == ["t_REALTIME", "1", "consuming", "-", "-", "-", "s1,", "s2"]
    assert err.splitlines() == [
        "t_REALTIME: pausing",
        "  paused by me at 2023-11-14T22:13:20Z (why: more)",
        "  Pinot reports: ADMINISTRATIVE, a word",
        "  it was paused before that by somebody who left no name",
        "  half of it is not known",
    ]


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    show(Output(OutputFormat.JSON), [STATUS])
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["state"], document["partitions"][1]["state"]) == ("pausing", "consuming")
    assert document["paused"] == [
        {"by": "me", "since_ms": 1_700_000_000_000, "reason": "why", "comment": "more"}
    ]
    assert document["partitions"][0]["lost"] == [10, 15]


def test_elsewhere_than_on_a_terminal_each_change_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    further = replace(STATUS, partitions=(PARTITION, replace(UNKNOWN, offset="7", lag=0)))
    seen = [[STATUS], [STATUS], [further], [replace(further, state=TableState.PAUSED)]]
    looks = iter(seen)
    clock = FakeClock()
    watch(Output(), lambda: next(looks), clock, 2.0, rounds=4)
    assert capsys.readouterr().out.splitlines() == [
        "t_REALTIME pausing",
        (
            "t_REALTIME partition 0: paused, offset 10, 30 behind "
            "(the stream has dropped the 5 offsets 10 to 14 unread)"
        ),
        "t_REALTIME partition 1: consuming, offset -",
        "t_REALTIME partition 1: consuming, offset 7, 0 behind",
        "t_REALTIME paused",
    ]
    assert clock.sleeps == [2.0, 2.0, 2.0]
    looks = iter(seen)
    watch(Output(OutputFormat.JSON), lambda: next(looks), clock, 2.0, rounds=4)
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
