"""Commands come from entry points, and listing them imports none of them."""

import importlib.metadata
import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from controller_client.cli import cli
from controller_client.cli.lazy import LazyGroup, missing_dependency, one_line_help
from controller_client.errors import SetupError
from tests.unit.controller_client.cli.conftest import Run

MAY_BE_IMPORTED = {"click", "controller_client", *sys.stdlib_module_names}
"""Packages that ``pinotctl --help`` may import: it should take less than 300 ms."""

LIST_MODULES = """
import json, sys
before = set(sys.modules)
from controller_client.cli import cli
try:
    cli.main(["--help"])
except SystemExit as end:
    assert end.code == 0, end.code
print(json.dumps(sorted(sys.modules.keys() - before)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def help_modules() -> list[str]:
    done = subprocess.run([sys.executable, "-c", LIST_MODULES], capture_output=True, text=True, check=True)
    assert "\n  query " in done.stdout
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return modules


def test_help_imports_nothing_heavy(help_modules: list[str]) -> None:
    packages = {name.partition(".")[0] for name in help_modules}
    assert not packages - MAY_BE_IMPORTED


def test_help_imports_no_command(help_modules: list[str]) -> None:
    assert not [name for name in help_modules if name.startswith("controller_client.cli.commands")]


def test_every_command_has_its_line_in_the_help(run: Run) -> None:
    lines = run("--help").stdout.splitlines()
    for name, point in cli.entry_points.items():
        line = one_line_help(point)
        assert line, name
        assert any(shown.split()[:2] == [name, line.split()[0]] for shown in lines), name


@pytest.mark.parametrize("name", sorted(cli.entry_points))
def test_every_command_can_be_loaded_and_has_help(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Usage: pinotctl")


def test_for_a_misspelt_command_the_nearest_is_suggested(run: Run) -> None:
    result = run("tabel", "list")
    assert result.exit_code == 2
    assert "No such command 'tabel'. Did you mean table?" in result.stderr


def test_the_shell_completes_commands_and_options() -> None:
    context = click.Context(cli, info_name="pinotctl")
    found = {item.value: item.help for item in cli.shell_complete(context, "t")}
    assert found.keys() == {name for name in cli.entry_points if name.startswith("t")}
    assert found["tenant"] == one_line_help(cli.entry_points["tenant"])
    assert "--controller" in [item.value for item in cli.shell_complete(context, "--co")]


def point(value: str) -> importlib.metadata.EntryPoint:
    return importlib.metadata.EntryPoint("thing", value, "pinotctl.commands")


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


def test_a_command_whose_dependency_is_missing_ends_with_that_error(monkeypatch: pytest.MonkeyPatch) -> None:
    group = LazyGroup(name="root", entry_point_group="nobody.has.this.group")
    group.__dict__["entry_points"] = {"thing": point("no_such_package.cli:thing [jvm]")}
    with pytest.raises(SetupError, match="needs the Python module no_such_package"):
        group.get_command(click.Context(group), "thing")


def test_an_entry_point_that_is_not_a_command_is_refused() -> None:
    group = LazyGroup(name="root", entry_point_group="nobody.has.this.group")
    group.__dict__["entry_points"] = {"thing": point("json:dumps")}
    with pytest.raises(SetupError, match="is a function"):
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

    entry = Point("thing", "json:dumps [jvm]", "pinotctl.commands")
    monkeypatch.setitem(cli.__dict__, "entry_points", {"thing": entry})
    result = CliRunner().invoke(cli, ["thing"])
    assert result.exit_code == 1
    assert "needs the Python module jpype" in result.stderr
    assert "pip install 'pinot-plugins[jvm]'" in result.stderr
