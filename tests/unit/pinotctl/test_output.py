"""Tables, records, JSON, progress and notes; names with control characters in all that is written."""

from __future__ import annotations

import io
import itertools
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from controller_client.common.terminal import LogFormatter, json_text, visible_lines
from controller_client.common.text import visible
from controller_client.errors import NotFoundError, PinotPluginError
from pinotctl.cells import table_lines
from pinotctl.options import confirm
from pinotctl.output import Output, OutputFormat
from tests.unit.fake_clock import FakeClock
from tests.unit.pinotctl.test_errors import fail

__all__ = ["fail"]


def test_a_table_in_a_pipe_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    Output().table(("name", "value"), [(long, None), ("[red]b[/red]", True), ("c", ["a", 1])])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "value"]
    assert lines[1] == long
    assert lines[2].split() == ["[red]b[/red]", "true"]
    assert lines[3].split(maxsplit=1) == ["c", '["a", 1]']


class Counted:
    """A value that counts how often values have become text."""

    read = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        Counted.read += 1
        return self.text


def test_a_large_table_is_written_while_its_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(Counted(f"value {number}"),) for number in range(50_000)]
    read_before_write: list[int] = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            read_before_write.append(Counted.read)
            return super().write(text)

    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(Counted, "read", 0)
    Output().table(("name",), rows)
    assert read_before_write[0] < 3_000
    assert Counted.read < len(rows) + 3_000
    assert stream.getvalue().splitlines() == ["name", *(row[0].text for row in rows)]


def test_a_wide_cell_outside_the_sample_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["x" * (500 if number == 7_001 else 3), number] for number in range(20_000)]
    Output().table(("name", "number"), rows)
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        [name, str(number)] for name, number in rows
    ]


def test_a_table_in_a_pipe_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("name", "value"), [("東京", 1), ("Zürich", None), (True, [1, "a"])])
    assert capsys.readouterr().out.splitlines() == [
        "name    value",
        "東京    1",
        "Zürich",
        'true    [1, "a"]',
    ]


def test_a_table_without_rows_or_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("name", "value"), [])
    Output().record({})
    Output().table((), [(), ()])
    assert capsys.readouterr().out.split() == ["name", "value"]


_CELLS = st.text(st.characters(exclude_categories=["C", "Z", "M"], include_characters=" "), max_size=60)


@given(st.lists(st.tuples(_CELLS, _CELLS, _CELLS), max_size=5), st.integers(20, 100))
def test_a_table_on_a_terminal_fits_and_is_whole(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = list(table_lines(("a", "b", "c"), rows, width=width))
    assert all(cell_len(line) <= width for line in lines)
    shown = Counter("".join(lines[2:]).replace(" ", ""))
    assert shown == Counter("".join(cell for row in rows for cell in row).replace(" ", ""))


def test_a_text_is_folded_at_blanks() -> None:
    assert list(table_lines(("a", "text"), [(1, "one two three"), (22, "abcdefghijklmn")], width=14)) == [
        " a   text",
        " -------------",
        " 1   one two",
        "     three",
        " 22  abcdefghi",
        "     jklmn",
    ]


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
    out = Output(OutputFormat.JSON)
    out.record(record)
    out.note("hello")
    captured = capsys.readouterr()
    assert (json.loads(captured.out), captured.err) == (record, "hello\n")


def test_json_has_neither_nan_nor_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    Output(OutputFormat.JSON).json({"a": [float("nan"), float("inf"), -float("inf"), 1.5, Decimal("1.10")]})
    text = capsys.readouterr().out
    found = json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    assert found == {"a": ["NaN", "Infinity", "-Infinity", 1.5, "1.10"]}


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


HOSTILE = {
    "colour": "a\x1b[31mb",
    "title": "a\x1b]0;x\x07b",
    "8-bit control": "a\x9b31mb",
    "null": "a\x00b",
    "back": "a\x08\x7fb",
    "return": "a\rb",
    "right to left": "a\u202egpj.exe",
    "isolate": "a\u2066b\u2069",
    "no text": "a\udcffb",
}
NAMES = pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(st.text())
def test_no_text_controls_a_terminal(text: str) -> None:
    assert not _STEERS.search(visible(text))
    assert "\n" not in visible(text)
    assert not _STEERS.search(visible_lines(text))
    assert not _STEERS.search(json_text([text]))
    assert json.loads(json_text({"a": [text]})) == {"a": [text]}


def test_other_characters_are_unchanged() -> None:
    text = "Zürich 東京 \U0001f6eb [red]"
    assert visible(text) == visible_lines(text) == text
    assert json_text("Zürich 東京") == '"Zürich 東京"'
    assert visible("a\nb\rc\x1b\u202e") == "a\\nb\\rc\\x1b\\u202e"


@NAMES
@pytest.mark.parametrize("output_format", [OutputFormat.TABLE, OutputFormat.JSON])
def test_what_is_written(name: str, output_format: OutputFormat, capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(output_format)
    out.table((name, "b"), [(name, [name]), (None, {name: 1})])
    out.record({name: name})
    out.json({name: name})
    out.json_line(name)
    out.line(name)
    out.note(name)
    with out.progress(name, unit="files") as progress:
        progress.update(done=1, text=f"reading {name}")
    captured = capsys.readouterr()
    assert not _STEERS.search(captured.out + captured.err)


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@NAMES
def test_what_is_written_to_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Output()
    outputs, errors = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", outputs)
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("TERM", "xterm")
    plain = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")  # what rich itself writes

    def shown(stream: io.StringIO) -> str:
        return plain.sub("", stream.getvalue()).replace("\r", "")

    out.table((f"[red]{name}", "b"), [(f"[red]{name}", name)])
    out.document(f"{name},b\n")
    with out.progress(f"[blue]{name}", total=2, unit="[green]") as progress:
        progress.update(done=1, text=f"[red]{name}")
    if "\x1b[31m" not in name:  # otherwise rich's own sequences hide it from this test
        assert not _STEERS.search(shown(outputs) + shown(errors))
    assert "\x1b[31mb" not in outputs.getvalue() + errors.getvalue()
    assert "[red]a" in shown(outputs)
    assert "[red]a" in shown(errors)
    assert "[green]" in shown(errors)


def test_csv_in_a_pipe_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    Output().document("a\x1b,b\r\n")
    assert capsys.readouterr().out == "a\x1b,b\r\n"


@NAMES
@pytest.mark.parametrize("before", [(), ("-v",)])
@pytest.mark.parametrize("output", ["table", "json"])
def test_errors(
    fail: Callable[..., click.testing.Result], name: str, before: tuple[str, ...], output: str
) -> None:
    errors: list[Exception] = [
        NotFoundError(f"no table {name}", expected=name, where=name, remedy=name),
        ValueError(name),
        click.UsageError(f"no option {name}"),
        click.FileError(name, hint=name),
    ]
    for error in errors:
        result = fail(error, "--output", output, before=before)
        assert not _STEERS.search(result.output), error


def test_secrets_in_errors_of_others_are_masked(fail: Callable[..., click.testing.Result]) -> None:
    text = "refused: {secretKey=hush, a=b}, sent Basic aHVzaDpodXNo1"
    errors, formats = (PinotPluginError(text), ValueError(text)), ((), ("--output", "json"))
    for error, options, before in itertools.product(errors, formats, ((), ("-v",))):
        output = fail(error, *options, before=before).output
        assert "hush" not in output
        assert "aHVzaDpodXNo" not in output


@NAMES
def test_questions(name: str) -> None:
    @click.command()
    def command() -> None:
        confirm(f"Delete {name}?", yes=False)

    result = CliRunner().invoke(command, input="y\n")
    assert not _STEERS.search(result.output)


@NAMES
def test_log_lines(name: str) -> None:
    formatter = LogFormatter("%(message)s")
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "table %s, password=%s", (name, "hush"), None)
    assert not _STEERS.search(formatter.format(record))
    assert "hush" not in formatter.format(record)


def test_no_message_of_a_log_looks_like_another_record() -> None:
    formatter = LogFormatter("%(asctime)s %(levelname)s %(message)s")
    forged = "x\n2026-01-01 00:00:00,000 ERROR all is lost\r\n\tpassword=hush"
    try:
        raise ValueError(forged)
    except ValueError:
        record = logging.LogRecord("x", logging.INFO, "x.py", 1, "no %s", (forged,), sys.exc_info())
    first, *lines = formatter.format(record).split("\n")
    assert first.endswith(r"INFO no x\n2026-01-01 00:00:00,000 ERROR all is lost\r\n\tpassword=***")
    assert lines[0] == "  Traceback (most recent call last):"
    assert "  2026-01-01 00:00:00,000 ERROR all is lost" + r"\r" in lines
    assert all(line.startswith("  ") for line in lines)
    assert "hush" not in "".join(lines)


def test_a_traceback_that_another_handler_has_formatted_is_made_safe_too() -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "failed", (), None)
    record.exc_text = "ValueError: a\nERROR \x1b[31m"
    assert LogFormatter("%(message)s").format(record) == "failed\n  ValueError: a\n  ERROR \\x1b[31m"
