"""Error messages on stderr, and exit codes."""

import importlib.metadata
import json
from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner, Result

from controller_client.cli import cli
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import confirm, output_option, yes_option
from controller_client.errors import ConfigError, NotFoundError, OutcomeUnknownError, PinotPluginError

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
        return CliRunner().invoke(
            cli, [*before, "broken", *arguments], env={"PINOTCTL_CONFIG": "/no/such/file"}
        )

    return invoke


def _install(monkeypatch: pytest.MonkeyPatch, command: click.Command) -> None:
    monkeypatch.setitem(COMMANDS, "broken", command)
    monkeypatch.setitem(
        cli.__dict__, "entry_points", {"broken": _Point("broken", "json:dumps", "pinotctl.commands")}
    )


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


def test_a_usage_error_is_json_too_with_output_json(fail: Fail) -> None:
    result = fail(ValueError("never raised"), "--number", "x", "--output", "json")
    assert result.exit_code == 2
    error = json.loads(result.stderr)["error"]
    assert (error["type"], error["exit_code"]) == ("BadParameter", 2)
    assert "'x' is not a valid integer" in error["message"]


def test_a_usage_error_shows_the_usage(fail: Fail) -> None:
    result = fail(ValueError("never raised"), "--no-such-option")
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")


def test_an_unexpected_error_is_one_line_and_a_hint(fail: Fail) -> None:
    result = fail(ZeroDivisionError("ouch\nsecond line"))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "Unexpected error: ZeroDivisionError: ouch"
    assert "pinotctl -v" in result.stderr
    assert "Traceback" not in result.stderr


def test_verbose_shows_the_traceback(fail: Fail) -> None:
    result = fail(ZeroDivisionError("ouch"), before=("-v",))
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "in broken" in result.stderr


def test_control_c_ends_with_130(fail: Fail) -> None:
    assert fail(KeyboardInterrupt()).exit_code == 130


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "done"),
    [
        ((), "y\n", 0, True),
        ((), "n\n", 1, False),
        ((), "", 2, False),
        (("--yes",), "", 0, True),
    ],
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
