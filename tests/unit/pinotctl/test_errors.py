"""Error messages on stderr, exit codes, and signals; one command for several tables."""

from __future__ import annotations

import importlib.metadata
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from controller_client.common.names import TableName
from controller_client.consumption import TableControl
from controller_client.errors import (
    ConfigError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    RejectedError,
)
from pinotctl.commands.each_table import each_table
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import confirm, output_option, yes_option
from pinotctl.output import OutputFormat
from pinotctl.root import cli
from pinotctl.signals import end_at_once_on_interrupt, stop_on_signals
from tests.unit.controller_client.consumption.worlds import World

Fail = Callable[..., Result]


class _Point(importlib.metadata.EntryPoint):
    """An entry point of a command that exists in this test only."""

    def load(self) -> click.Command:
        return COMMANDS[self.name]


COMMANDS: dict[str, click.Command] = {}


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    def invoke(error: BaseException, *arguments: str, before: tuple[str, ...] = ()) -> Result:
        @click.command()
        @output_option()
        @click.option("--number", type=int)
        def broken(number: int | None) -> None:
            raise error

        _install(monkeypatch, broken)
        environment = {"PINOTCTL_CONFIG": "/no/such/file"}
        return CliRunner().invoke(cli, [*before, "broken", *arguments], env=environment)

    return invoke


def _install(monkeypatch: pytest.MonkeyPatch, command: click.Command) -> None:
    monkeypatch.setitem(COMMANDS, "broken", command)
    monkeypatch.setattr(cli, "entry_points", {"broken": _Point("broken", "json:dumps", "pinotctl")})


@pytest.mark.parametrize(
    ("error", "code"),
    [(NotFoundError("gone"), 1), (ConfigError("wrong"), 2), (OutcomeUnknownError("who knows"), 3)],
)
def test_an_error_ends_the_command_with_its_code_and_message(
    fail: Fail, error: PinotPluginError, code: int
) -> None:
    error.expected, error.where, error.remedy = "something else", "there", "do this"
    result = fail(error)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr == (
        f"Error: {error.message}\n  Expected: something else\n  Where: there\n  What to do: do this\n"
    )


@pytest.mark.parametrize("option", [("--output", "json"), ("--output=json",)])
def test_with_output_json_an_error_is_one_json_object_on_stderr(fail: Fail, option: tuple[str, ...]) -> None:
    result = fail(NotFoundError("gone", where="there", http_status=404), *option)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert json.loads(result.stderr) == {
        "error": {
            "type": "NotFoundError",
            "message": "gone",
            "expected": None,
            "where": "there",
            "remedy": None,
            "http_status": 404,
            "exit_code": 1,
        }
    }


def test_a_usage_error_shows_the_usage_or_is_json_too(fail: Fail) -> None:
    unused = ValueError("never raised")
    result = fail(unused, "--number", "x", "--output", "json")
    error = json.loads(result.stderr)["error"]
    assert (result.exit_code, error["type"], error["exit_code"]) == (2, "BadParameter", 2)
    assert "'x' is not a valid integer" in error["message"]
    result = fail(unused, "--no-such-option")
    assert (result.exit_code, result.stderr.startswith("Usage: ")) == (2, True)


def test_an_unexpected_error_is_one_line_and_a_hint_and_verbose_shows_the_traceback(fail: Fail) -> None:
    ouch = ZeroDivisionError("ouch\nsecond line")
    brief, verbose = fail(ouch), fail(ouch, before=("-v",))
    assert (brief.exit_code, verbose.exit_code, fail(KeyboardInterrupt()).exit_code) == (1, 1, 130)
    assert brief.stderr.splitlines()[0] == "Unexpected error: ZeroDivisionError: ouch"
    assert "pinotctl -v" in brief.stderr
    assert "Traceback" not in brief.stderr
    assert "Traceback" in verbose.stderr
    assert "in broken" in verbose.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "done"),
    [((), "y\n", 0, True), ((), "n\n", 1, False), ((), "", 2, False), (("--yes",), "", 0, True)],
    ids=["yes", "no", "nobody to ask", "--yes"],
)
def test_a_deletion_asks_for_confirmation(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], stdin: str, code: int, done: bool
) -> None:
    did = []

    @click.command()
    @yes_option
    @pass_cli
    def broken(cli_context: CliContext, yes: bool) -> None:
        confirm("Delete it?", yes=yes)
        did.append(cli_context)

    _install(monkeypatch, broken)
    result = CliRunner().invoke(cli, ["broken", *arguments], input=stdin)
    assert result.exit_code == code
    assert bool(did) is done
    assert result.stdout == "", "questions belong on stderr"


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGHUP, signal.SIGUSR1, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_signal_stops_and_a_second_changes_nothing() -> None:
    stop = stop_on_signals(signal.SIGHUP, signal.SIGUSR1)
    assert not stop.event.is_set()
    signal.raise_signal(signal.SIGUSR1)
    assert stop.event.is_set()
    signal.raise_signal(signal.SIGHUP)
    assert stop.event.is_set()


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = stop_on_signals(signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    assert not stop.event.is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_an_interrupt_ends_the_process_at_once_unless_it_is_ignored() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_at_once_on_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_at_once_on_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.fixture
def context() -> CliContext:
    return CliContext()


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([None, None], 0),
        ([None, RejectedError("no")], 1),
        ([OutcomeUnknownError("lost"), RejectedError("no"), None], 3),
    ],
)
def test_an_unknown_outcome_counts_more_than_a_failure(
    context: CliContext, errors: list[PinotPluginError | None], code: int
) -> None:
    left, again = list(errors), list[TableControl]()

    def do(_control: TableControl) -> dict[str, Any]:
        if error := left.pop(0):
            raise error
        return {}

    def note(control: TableControl) -> dict[str, Any]:
        again.append(control)
        return {}

    with pytest.raises(click.exceptions.Exit) if code else nullcontext() as ended:
        each_table(context, [World().control for _ in errors], do, note)
    assert ended is None or ended.value.exit_code == code
    assert len(again) == errors.count(None)


def test_the_error_of_a_single_table_is_raised(context: CliContext) -> None:
    def do(_control: TableControl) -> dict[str, Any]:
        raise OutcomeUnknownError("lost")

    with pytest.raises(OutcomeUnknownError):
        each_table(context, [World().control], do)


def test_json_has_an_object_for_each_table_with_what_every_step_added(
    context: CliContext, capsys: pytest.CaptureFixture[str]
) -> None:
    well, failing = World().control, World().control
    failing.table = TableName("other_REALTIME")
    context.out.format = OutputFormat.JSON

    def first(_control: TableControl) -> dict[str, Any]:
        return {"changed": True, "paused": False}

    def second(control: TableControl) -> dict[str, Any]:
        if control is failing:
            raise RejectedError("no")
        return {"paused": True}

    with pytest.raises(click.exceptions.Exit):
        each_table(context, [well, failing], first, second)
    assert json.loads(capsys.readouterr().out) == [
        {"table": well.table, "error": None, "changed": True, "paused": True},
        {"table": "other_REALTIME", "error": "no", "changed": True, "paused": False},
    ]
