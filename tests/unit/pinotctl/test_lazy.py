"""Commands come from a table, and listing them imports none; completion of names and commands."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from controller_client.errors import SetupError
from pinotctl import completion
from pinotctl.lazy import LazyGroup, missing_dependency, one_line_help
from pinotctl.root import cli
from tests.support.pinotctl import pinotctl
from tests.unit.controller_client.scripted_server import ScriptedServer, answer, closed_port, silence
from tests.unit.pinotctl.conftest import Run
from tests.unit.pinotctl.test_uniform import COMMANDS

MAY_BE_IMPORTED = {"click", "controller_client", "pinotctl", *sys.stdlib_module_names}
"""Packages that ``pinotctl --help`` may import: it should take less than 300 ms."""

LIST_MODULES = """
import json, sys
before = set(sys.modules)
from pinotctl.root import cli
try:
    cli.main(["--help"])
except SystemExit as end:
    assert end.code == 0, end.code
print(json.dumps(sorted(sys.modules.keys() - before)), file=sys.stderr)
"""


def test_help_imports_nothing_heavy_and_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", LIST_MODULES], capture_output=True, text=True, check=True)
    assert "\n  query " in done.stdout
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    assert not {name.partition(".")[0] for name in modules} - MAY_BE_IMPORTED
    assert not [name for name in modules if name.startswith("pinotctl.commands.")]


def test_every_command_has_help_and_its_line_in_that_of_pinotctl(run: Run) -> None:
    lines = run("--help").stdout.splitlines()
    for name, point in cli.entry_points.items():
        line = one_line_help(point)
        assert line, name
        assert any(shown.split()[:2] == [name, line.split()[0]] for shown in lines), name
        own = run(name, "--help")
        assert own.exit_code == 0, own.output
        assert own.stdout.startswith("Usage: pinotctl"), name


def test_for_a_misspelt_command_the_nearest_is_suggested(run: Run) -> None:
    result = run("tabel", "list")
    assert result.exit_code == 2
    assert "No such command 'tabel'. Did you mean 'table'?" in result.stderr


def test_the_list_of_a_group_has_whole_sentences(run: Run) -> None:
    groups = {name.rpartition(" ")[0] for name in COMMANDS} - {""}
    assert len(groups) > 15
    for group in groups:
        shown = run(*group.split(), "--help").stdout.partition("\nCommands:\n")[2]
        for line in re.split(r"\n(?=  \w)", shown.rstrip("\n")):
            assert re.fullmatch(r"[A-Z].*[^.]\.", " ".join(line.split()[1:])), (group, line)


def test_the_shell_completes_commands_and_options() -> None:
    context = click.Context(cli, info_name="pinotctl")
    found = {item.value: item.help for item in cli.shell_complete(context, "t")}
    assert found.keys() == {name for name in cli.entry_points if name.startswith("t")}
    assert found["tenant"] == one_line_help(cli.entry_points["tenant"])
    assert "--controller" in [item.value for item in cli.shell_complete(context, "--co")]


def point(value: str) -> importlib.metadata.EntryPoint:
    return importlib.metadata.EntryPoint("thing", value, "pinotctl")


@pytest.mark.parametrize("value", ["no_such_package.cli:thing", "controller_client.no_such_module:thing"])
def test_a_module_that_cannot_be_found_has_no_help_line(value: str) -> None:
    assert one_line_help(point(value)) == ""


@pytest.mark.parametrize(
    ("value", "command"),
    [
        ("no_such_package.cli:thing [minion]", "pip install 'pinot-plugins[minion]'"),
        ("no_such_package.cli:thing", "pip install pinot-plugins"),
    ],
)
def test_a_missing_dependency_names_the_extra(value: str, command: str) -> None:
    entry = point(value)
    with pytest.raises(ModuleNotFoundError) as missing:
        entry.load()
    error = missing_dependency(entry, missing.value)
    assert "the command thing needs the Python module no_such_package" in error.message
    assert error.remedy == command


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_package.cli:thing [jvm]", "needs the Python module no_such_package"),
        ("json:dumps", "is a function"),
    ],
)
def test_what_cannot_be_loaded_as_a_command_is_refused(value: str, words: str) -> None:
    group = LazyGroup(name="root", lazy_commands={"thing": value})
    with pytest.raises(SetupError, match=words):
        group.get_command(click.Context(group), "thing")


def test_a_dependency_that_is_missing_while_the_command_runs_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command()
    def thing() -> None:
        raise ModuleNotFoundError("No module named 'jpype'", name="jpype")

    class Point(importlib.metadata.EntryPoint):
        def load(self) -> click.Command:
            return thing

    entry = Point("thing", "json:dumps [jvm]", "pinotctl")
    monkeypatch.setattr(cli, "entry_points", {"thing": entry})
    result = CliRunner().invoke(cli, ["thing"])
    assert result.exit_code == 1
    assert "needs the Python module jpype" in result.stderr
    assert "pip install 'pinot-plugins[jvm]'" in result.stderr


_NAMES = {"table_name", "table_names", "patterns", "table", "segment_name", "segment_names", "server"}


def completed(url: str, config: Path) -> tuple[str, str]:
    """Return the completions of the name of a table, and what is written to stderr."""
    environment = {
        **os.environ,
        "_PINOTCTL_COMPLETE": "bash_complete",
        "COMP_WORDS": "pinotctl table show k",
        "COMP_CWORD": "3",
        "PINOT_CONTROLLER_URL": url,
        "PINOTCTL_CONFIG": str(config),
    }
    done = subprocess.run(pinotctl(), env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("step", [silence, answer(500, "broken"), answer(200, "no JSON")])
def test_a_failing_controller_yields_no_completions(step: object, tmp_path: Path) -> None:
    with ScriptedServer() as server:
        server.answers = lambda _: step  # type: ignore[return-value,assignment]
        # The silent controller is silent until the end of this block, which is after the command's end.
        assert completed(server.url, tmp_path / "none") == ("", "")
        assert server.requests


def test_completion_waits_for_its_limit_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_s: list[float | None] = []
    controller_answers = threading.Event()

    def join(_: threading.Thread, timeout: float | None = None) -> None:
        waits_s.append(timeout)

    with monkeypatch.context() as patches:
        patches.setattr(threading.Thread, "join", join)
        assert completion._in_time(lambda: [str(controller_answers.wait())]) == []
    controller_answers.set()
    assert waits_s == [completion._LONGEST_S]
    assert completion._LONGEST_S <= 2


def test_an_unreachable_controller_or_wrong_settings_yield_no_completions(tmp_path: Path) -> None:
    assert completed(f"http://127.0.0.1:{closed_port()}", tmp_path / "none") == ("", "")
    broken = tmp_path / "pinotctl.toml"
    broken.write_text("this is not TOML")
    assert completed("http://127.0.0.1:1", broken) == ("", "")


def test_all_arguments_that_are_names_are_completed() -> None:
    """A new argument that names a table must be a table_argument, too."""
    plain = [
        f"{command} {parameter.name}"
        for command, each in COMMANDS.items()
        for parameter in each.params
        if parameter.param_type_name == "argument"
        and parameter.name in _NAMES
        and parameter._custom_shell_complete is None
    ]
    assert not plain
