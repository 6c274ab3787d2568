"""Tables, records, JSON and progress."""

import json
from decimal import Decimal

import pytest

from controller_client.cli.output import Output, OutputFormat
from tests.unit.fake_clock import FakeClock


def test_a_table_in_a_pipe_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    Output().table(("name", "value"), [(long, None), ("[red]b[/red]", True), ("c", ["a", 1])])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "value"]
    assert lines[1] == long
    assert lines[2].split() == ["[red]b[/red]", "true"]
    assert lines[3].split(maxsplit=1) == ["c", '["a", 1]']


def test_a_table_as_json_is_a_list_of_objects(capsys: pytest.CaptureFixture[str]) -> None:
    Output(OutputFormat.JSON).table(("name", "value"), [("ä", 1), ("b", None)])
    assert json.loads(capsys.readouterr().out) == [{"name": "ä", "value": 1}, {"name": "b", "value": None}]


def test_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    record = {"a": 1, "b": {"c": [True]}}
    Output().record(record)
    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()] == [
        ["a", "1"],
        ["b", '{"c": [true]}'],
    ]
    Output(OutputFormat.JSON).record(record)
    assert json.loads(capsys.readouterr().out) == record


def test_json_has_neither_nan_nor_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    Output(OutputFormat.JSON).json({"a": [float("nan"), float("inf"), -float("inf"), 1.5, Decimal("1.10")]})
    text = capsys.readouterr().out
    found = json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    assert found == {"a": ["NaN", "Infinity", "-Infinity", 1.5, "1.10"]}


def test_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    Output(OutputFormat.JSON).note("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_progress_without_a_terminal_is_a_line_at_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    with Output(clock=clock).progress("Reading", total=4, unit="files") as progress:
        for seconds in (1.0, 5.0, 1.0, 5.0):
            clock.advance(seconds)
            progress.advance()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["Reading: 2/4 files", "Reading: 4/4 files"]


def test_progress_ends_with_the_last_count_if_the_work_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with Output(clock=FakeClock()).progress("Reading") as progress:
            progress.update(done=3, text="Reading on")
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  # raised above
        work()
    assert capsys.readouterr().err == "Reading on: 3\n"
