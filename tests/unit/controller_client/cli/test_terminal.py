"""Names and texts with control characters in tables, progress, notes, errors, prompts, JSON and logs."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from controller_client.cli.options import confirm
from controller_client.cli.output import Output, OutputFormat
from controller_client.common.terminal import LogFormatter, json_text, visible_lines
from controller_client.common.visible_text import visible
from controller_client.errors import NotFoundError, PinotPluginError
from tests.unit.controller_client.cli.test_errors import fail

__all__ = ["fail"]

HOSTILE = {
    "colour": "a\x1b[31mb",
    "title": "a\x1b]0;x\x07b",
    "8-bit control": "a\x9b31mb",
    "back": "a\x08\x7fb",
    "return": "a\rb",
    "right to left": "a\u202egpj.exe",
    "isolate": "a\u2066b\u2069",
    "no text": "a\udcffb",
    "null": "a\x00b",
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
    for error in (PinotPluginError(text), ValueError(text)):
        for options in ((), ("--output", "json")):
            for before in ((), ("-v",)):
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
