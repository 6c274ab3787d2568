"""Odd but possible input to every command: a plain message and an exit code, never a traceback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from controller_client.clock import SystemClock
from pinotctl.root import cli
from tests.support.pinotctl import pinotctl
from tests.unit.controller_client.scripted_server import closed_port
from tests.unit.pinotctl.conftest import Run

# These start processes, a JVM or Spark, or fetch jars, before or after they check their arguments.
_LEFT_OUT = (
    *("cluster up", "cluster restart", "jars", "serve", "scheduler", "write-reference"),
    *("upsert coordinate", "upsert rebuild", "deepstore watch"),
)
_TEXTS = (
    *("", "..", "../x", "a\0b", "a\udcffb", "\x1b[31m", "a=b"),
    *("x" * 5_000, "9" * 5_000, "0=" + "9" * 5_000),
)
_HOSTS = ("", "a..b", "a" * 70, "a b", "[::1")
_NUMBERS = ("nan", "inf", "1e308", "", "9" * 5_000)
_FILES = {
    "deep list": "[" * 100_000,
    "deep object": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "a bit deep": '{"a":' * 500 + "1" + "}" * 500,
    "digits": '{"a": ' + "9" * 5_000 + "}",
    "no number": '{"schemaName": "x", "tableName": "x", "tableType": "OFFLINE", "a": NaN}',
    "other types": '{"schemaName": 1, "dimensionFieldSpecs": {}, "tableName": [], "tableType": {}}',
    "odd names": '{"schemaName": "../\\ud800", "tableName": "../\\u0000", "tableType": "OFFLINE"}',
    "time": '{"schemaName": "x", "timeFieldSpec": {"a": 1}, "tableName": "x", "tableType": "OFFLINE"}',
    "empty": "",
}


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if " ".join(path).startswith(_LEFT_OUT):
        return
    if isinstance(command, click.Group):
        context = click.Context(cli)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(_commands(cli))
GROUPS = sorted({" ".join(name.split()[:depth]) for name in COMMANDS for depth in range(len(name.split()))})


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, text in _FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes").write_bytes(b'{"a": "\xff"}')
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff")).write_text("{}")
    return [*map(str, tmp_path.iterdir()), str(tmp_path), "no such file", "/dev/null", "a\0b", "x" * 5_000]


def _odd_values(parameter: click.Parameter, files: list[str]) -> list[str]:
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return ["\udcff"]
    if isinstance(kind, (click.File, click.Path)):
        return files
    if isinstance(kind, click.types.StringParamType):
        return [*_TEXTS, f"a={files[0]}"]
    return list(_NUMBERS)


def _plain_value(kind: object, files: list[str]) -> str:
    if isinstance(kind, (click.File, click.Path)):
        return files[0]
    return "a_OFFLINE" if isinstance(kind, click.types.StringParamType) else "1"


def _check(result: Result, line: list[str]) -> None:
    assert isinstance(result.exception, SystemExit | None), line
    assert "Unexpected error" not in result.output, line
    assert "Traceback" not in result.output, line
    assert result.exit_code in (0, 1, 2), line
    assert result.exit_code == 0 or "Error" in result.output, line


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings of a controller that does not answer, without waits between retries."""
    monkeypatch.setattr(SystemClock, "sleep", lambda *_: None)
    return {"PINOT_CONTROLLER_URL": f"http://127.0.0.1:{closed_port()}", "PINOTCTL_CONFIG": "/no/such/file"}


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_shows_its_help(run: Run, group: str) -> None:
    result = run(*group.split())
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")
    assert "\nCommands:\n" in result.stderr


# click leaves a file open if another one cannot be opened; the process ends then.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_each_argument_of_each_command(name: str, files: list[str], nobody: dict[str, str]) -> None:
    command = COMMANDS[name]
    needed = [each for each in command.params if isinstance(each, click.Argument) or each.required]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.is_eager):
            continue
        for value in _odd_values(parameter, files):
            line = name.split()
            for each in dict.fromkeys([*needed, parameter]):
                given = value if each is parameter else _plain_value(each.type, files)
                flag = [] if isinstance(each, click.Argument) else [each.opts[0]]
                line += flag if getattr(each, "is_flag", False) else [*flag, given]
            _check(CliRunner().invoke(cli, line, env=nobody, input=""), line)


@pytest.mark.parametrize(
    "line",
    [
        ("instance", "show", ""),
        ("instance", "show", ".."),
        ("schema", "show", "../x"),
        ("table", "show", "../x"),
        ("table", "delete", "--yes", "a/b_OFFLINE"),
        ("segment", "list", "a\x1bb"),
        ("table", "show", "a\udcff"),
        ("query", "select \0"),
        ("query", "select '\udcff'"),
        ("query", "select 1", "--timeout", "nan"),
        ("lineage", "doctor", "--older-than", "inf"),
        ("consumption", "resume", "t", "--consume-from", "0=" + "9" * 5_000),
    ],
)
def test_a_value_that_no_command_can_use_is_wrong_usage(
    line: tuple[str, ...], nobody: dict[str, str]
) -> None:
    result = CliRunner().invoke(cli, line, env=nobody, input="")
    assert result.exit_code == 2, result.output
    _check(result, list(line))


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--controller", ("", "x", "file:///x", *(f"http://{host}" for host in _HOSTS))),
        ("--broker", ("", ",", "x", "http://a..b")),
        ("--zookeeper", ("a:b", "a:0", "a:65536", "a:" + "9" * 5_000, ",", "/x", "a:1/..", "\udcff")),
        ("--cluster-name", ("a/b", "..", "\x1b")),
        ("--profile", ("nope", "", "..")),
        ("--password-file", ("no such file", "/", "~nobody-has-this-name/x", "\udcff", "x" * 5_000)),
        ("--token-file", ("no such file", "/")),
        ("--user", ("", "a\nb", "\udcff")),
    ],
)
def test_each_value_of_each_setting(option: str, values: tuple[str, ...], nobody: dict[str, str]) -> None:
    where = {"--zookeeper": ("--cluster-name", "c"), "--cluster-name": ("--zookeeper", "a:x")}.get(option, ())
    command = ("zk", "children") if where else ("query", "select 1") if option == "--broker" else ("info",)
    for value in values:
        line = [option, value, *where, *command]
        result = CliRunner().invoke(cli, line, env=nobody)
        _check(result, line)
        assert result.exit_code != 0, line


@pytest.mark.parametrize("content", ["", "garbage", None])
@pytest.mark.parametrize("name", ["ca.pem", "a/b.pem", "\u2603.pem"])
def test_an_invalid_ca_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    result = run("--ca-file", name, "--controller", "https://127.0.0.1:1", "info")
    assert result.exit_code == 2
    assert f"TLS cannot use the file {name}" in result.stderr
    assert f"Where: {tmp_path / name}" in result.stderr


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"a = " + b"[" * 10_000, b"a = " + b"9" * 5_000, b"default = 1", b"[default]\nuser = 1"],
)
def test_an_invalid_profiles_file(run: Run, config_file: Path, content: bytes) -> None:
    config_file.write_bytes(content)
    result = run("config", "show", "--output", "table")
    assert result.exit_code == 2 or content.startswith(b"a = 9")
    _check(result, [repr(content)])


def test_an_invalid_profiles_file_of_the_user(run: Run, tmp_path: Path) -> None:
    """The file is found without ``PINOTCTL_CONFIG``, too."""
    for variable, folder in (("XDG_CONFIG_HOME", tmp_path), ("HOME", tmp_path / ".config")):
        folder.mkdir(exist_ok=True)
        (folder / "pinotctl.toml").write_text('[default]\ncontroler = "http://x"\n')
        env = {"PINOTCTL_CONFIG": "", "XDG_CONFIG_HOME": "", variable: str(tmp_path)}
        result = run("config", "show", env=env)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: unknown key controler\n")
        assert f"profile default in {folder / 'pinotctl.toml'}" in result.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_process_without_standard_streams(closed: str, nobody: dict[str, str]) -> None:
    for words, code in ((("config", "show"), 0), (("query",), 2)):
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *pinotctl(*words)]
        done = subprocess.run(shell, check=False, capture_output=True, text=True, env=os.environ | nobody)
        assert done.returncode == code
        assert "Unexpected" not in done.stderr
        assert done.stdout.startswith("setting") == (code == 0 and ">&-" not in closed.split())


def test_a_full_disk_is_said(nobody: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            pinotctl("config", "show"),
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | nobody,
        )
    assert (done.returncode, done.stderr) == (
        1,
        "Error: reading or writing failed: No space left on device\n",
    )


def test_a_file_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["cluster", "status", "--dir", "/dev/null"])
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: the file cannot be used: Not a directory",
        "  Where: /dev/null/cluster.json",
    ]


def test_a_reader_that_goes_away_ends_the_command_silently(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    show = subprocess.Popen(pinotctl("config", "show"), stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    _, errors = show.communicate()
    assert (show.returncode, errors) == (1, "")


def test_a_token_with_a_line_break_is_not_shown_and_a_query_must_be_text(nobody: dict[str, str]) -> None:
    broken = CliRunner().invoke(cli, ["info"], env={**nobody, "PINOT_TOKEN": "hush\nhush"})
    query = CliRunner().invoke(cli, ["query", "-"], env=nobody, input=b"select '\xff'")
    assert (broken.exit_code, query.exit_code) == (2, 2)
    assert "hush" not in broken.output
    assert "standard input is not text" in query.stderr
