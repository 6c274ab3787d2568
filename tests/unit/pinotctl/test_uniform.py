"""What all commands have in common: --output, --dry-run, names in snake_case, one style of option help."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from controller_client.common.text import WordEnum
from pinotctl.root import cli
from tests.unit.pinotctl.conftest import Run

ROOT = Path(__file__).parents[3]
PACKAGES = (
    "controller_client",
    "jvm_bridge",
    "key_coordinator",
    "minion_tasks",
    "pinotctl",
    "server_hooks",
    "spark_connectors",
)

WITHOUT_OUTPUT = {
    "deepstore watch": "runs until it is stopped; programs read its metrics",
    "monitoring rules": "prints a file for Prometheus",
    "scheduler": "runs until it is stopped",
    "serve broker": "runs until it is stopped",
    "serve minion": "runs until it is stopped",
    "serve server": "runs until it is stopped",
    "task session report": "writes an HTML page",
    "upsert coordinate": "runs until it is stopped",
}
"""Commands without --output, and why."""

KEYS_OF_OTHERS = {
    "pinotctl/options.py": {"spark.master"},  # Spark's setting
    "pinotctl/querying/shell.py": {r"\d", r"\x", r"\timing", r"\?", r"\q"},  # what is typed
    "pinotctl/commands/zk.py": {"simpleFields", "mapFields", "listFields"},  # a ZNRecord's own
    "pinotctl/commands/serve/minion.py": {
        "zk.session.timeout",
        "pinotPlugins.log.level",
    },  # Java's properties
}
"""Keys in dicts whose names are not our choice, by module."""

SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

OPTION_HELP = re.compile(r"[A-Z/].*\.", re.DOTALL)
DEFAULT_IN_HELP = re.compile(r"\b(default[: ]|without it|unless given)")


def all_commands(
    command: click.Command = cli, ctx: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    ctx = ctx or click.Context(command, info_name="")
    if not isinstance(command, click.Group):
        yield ctx.command_path.strip(), command
        return
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        assert below is not None
        if not below.hidden:
            yield from all_commands(below, click.Context(below, info_name=name, parent=ctx))


COMMANDS = dict(all_commands())


def options(name: str) -> set[str]:
    return {option for parameter in COMMANDS[name].params for option in parameter.opts}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_like_the_others(name: str) -> None:
    """It writes JSON on request, has a dry run if it asks, and its help is one style."""
    command = COMMANDS[name]
    outputs = [each.type for each in command.params if "--output" in each.opts]
    if name in WITHOUT_OUTPUT:
        assert outputs == []
    else:
        (output,) = outputs
        assert isinstance(output, click.Choice)
        assert {"table", "json"} <= set(output.choices)
    assert "--dry-run" in options(name) or "--yes" not in options(name)
    if getattr(command.callback, "__module__", "").startswith("controller_client."):
        texts = [each.help or "" for each in command.params if isinstance(each, click.Option)]
        assert not [text for text in texts if not OPTION_HELP.fullmatch(text)]
        assert not [text for text in texts if DEFAULT_IN_HELP.search(text)]


def test_the_exceptions_are_commands() -> None:
    assert WITHOUT_OUTPUT.keys() <= COMMANDS.keys()


def test_columns_and_keys_are_in_snake_case() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name!r}"
        for path in _modules_that_print()
        for line, name in _names_in(path)
        if not SNAKE_CASE.fullmatch(name)
        and name not in KEYS_OF_OTHERS.get(str(path.relative_to(ROOT)), set())
    ]
    assert not wrong, "\n".join(wrong)


def test_the_check_of_names_sees_columns_and_keys(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        'COLUMNS = ("ok", "not ok")\n'
        'def f(out, rows):\n    out.table(("a", "b c"), rows)\n    return {"d e": 1, **{"f": {"gH": 2}}}\n'
    )
    assert {name for _, name in _names_in(path)} == {"ok", "not ok", "a", "b c", "d e", "f", "gH"}


def test_values_of_enumerations_are_in_snake_case() -> None:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "WordEnum" in path.read_text(encoding="utf-8"):
                importlib.import_module(str(path.relative_to(ROOT).with_suffix("")).replace("/", "."))
    found = WordEnum.__subclasses__()
    assert len(found) >= 4
    assert not [value for each in found for value in each if not SNAKE_CASE.fullmatch(value)]


def _modules_that_print() -> Iterator[Path]:
    yield from sorted((ROOT / "pinotctl").rglob("*.py"))
    yield ROOT / "controller_client" / "deepstore" / "report.py"
    yield ROOT / "controller_client" / "consumption" / "pauses" / "offset_jumps.py"
    yield ROOT / "controller_client" / "consumption" / "pauses" / "resuming.py"
    yield ROOT / "controller_client" / "upsert" / "status.py"


def _names_in(path: Path) -> Iterator[tuple[int, str]]:
    """Return the keys of dict displays, the columns of tables, and constants that contain columns."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            yield from _texts(node.keys)
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "table"
        ):
            yield from _texts(node.args[:1])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id.lower().endswith("columns") for each in targets):
                yield from _texts([node.value])


def _texts(nodes: Sequence[ast.expr | None]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.Tuple | ast.List):
            yield from _texts(node.elts)


def test_docs_cli_md_is_up_to_date(run: Run) -> None:
    result = run("write-reference")
    assert result.exit_code == 0, result.stderr
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == result.stdout, "run 'pinotctl write-reference > docs/cli.md' and commit it"
