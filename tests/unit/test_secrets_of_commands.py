"""Each command of pinotctl with secrets of every way in, at peers that return what they were sent.

Whatever a command prints, logs, writes into files and into ZooKeeper must contain none of them.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import click
import pytest
from click.testing import CliRunner

import controller_client.zookeeper
from controller_client.clock import SystemClock
from controller_client.common.redaction import is_secret
from controller_client.errors import UnreachableError
from pinotctl.root import cli
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.memory_zookeeper import MemoryPropertyStore

PASSWORD, TOKEN = "canary/pass word", "canary-token-1"
_PAIR = f"me:{PASSWORD}"
SECRETS = {
    *("canary", quote(PASSWORD), quote(PASSWORD, safe="")),
    *(base64.b64encode(text.encode()).decode().rstrip("=") for text in (PASSWORD, TOKEN, _PAIR)),
}
"""What must not appear, in any form."""

_HOSTING = "it runs a role of Pinot, or a loop without an end"
_LOCAL = "it has no cluster"
NOT_RUN: Mapping[str, str] = {
    **dict.fromkeys(("serve broker", "serve minion", "serve server"), _HOSTING),
    **dict.fromkeys(("scheduler", "deepstore watch", "monitoring metrics", "upsert coordinate"), _HOSTING),
    **dict.fromkeys(("cluster up", "cluster down", "cluster logs", "cluster status"), _LOCAL),
    **dict.fromkeys(("jars class-path", "jars fetch", "jars warm", "write-reference"), _LOCAL),
}
"""Commands without a test here, each with the reason."""

ASK_NOBODY = {
    *("config show", "monitoring dashboards", "monitoring rules"),
    "table infer",
    "upsert create",  # the table's config is refused
}
FURTHER: Mapping[str, tuple[str, ...]] = {
    "table copy": ("--to-controller", "http://127.0.0.1:9"),
    "table move": ("--server", "s"),
    "task register": ("--file", "task.json"),
    "user create": ("--new-password-file", "user"),
    "consumption change-stream": ("--set", "stream.kafka.broker.list=other:9092"),
}
"""Options without which a command asks nobody."""

_STREAM = {
    "streamType": "kafka",
    "stream.kafka.topic.name": "t",
    "stream.kafka.broker.list": "k:9092",
    "sasl.jaas.config": 'org.x.PlainLoginModule required username="me" password="canary-of-a-stream";',
    "stream.kafka.schema.registry.basic.auth.user.info": "me:canary-of-a-stream",
}
_TASK = {
    "inputDirURI": "s3://b/in",
    "inputFormat": "csv",
    "outputDirURI": "s3://b/out",
    "input.fs.prop.region": "r",
    "input.fs.prop.accessKey": "me",
    "input.fs.prop.secretKey": "canary-of-a-file",
}
TABLE = {
    "tableName": "t_REALTIME",
    "tableType": "REALTIME",
    "segmentsConfig": {"schemaName": "t"},
    "tableIndexConfig": {"streamConfigs": _STREAM},
    "task": {"taskTypeConfigsMap": {"FileIngestionTask": _TASK}},
    "metadata": {"customConfigs": {"owner": "https://me:canary-of-a-file@host/"}},
}


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner
            yield from _commands(inner, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(_commands(cli))


def echo(status: int) -> Callable[[Seen], Step]:
    """A peer that returns what it was sent, and the passwords that it could know by that."""

    def respond(seen: Seen) -> Step:
        sent = seen.headers.get("Authorization", "")
        known = [PASSWORD, _PAIR] if "Basic" in sent else [TOKEN]
        text = f"{sent} {sent.partition(' ')[2]} {' '.join(known)} {quote(known[0])} {seen.body!r}"
        return answer(status, {"code": status, "error": text, "schemaName": text, "id": text})

    return respond


def honest(seen: Seen) -> Step:
    """A controller with one table, whose config has secrets."""
    table = {"REALTIME": TABLE, "OFFLINE": {**TABLE, "tableName": "t_OFFLINE", "tableType": "OFFLINE"}}
    replies: Mapping[str, object] = {
        "/tables": {"tables": ["t_REALTIME"]},
        "/cluster/info": {"clusterName": "c"},
        "/version": {"pinot-controller": "1.5.1"},
        "/appconfigs": {
            "pinotConfig": {"controller.data.dir": "/d", "pinot.s3.secretKey": "canary-of-a-file"}
        },
        "/users": {"users": {"me_BROKER": {"username": "me", "password": "canary-of-a-file"}}},
        "/schemas": ["t"],
        "/instances": {"instances": ["Server_h_1"]},
    }
    if seen.path.startswith("/tables/t"):
        return answer(200, table)
    if seen.path == "/zk/get":
        return answer(200, {"id": "t", "simpleFields": {k: json.dumps(v) for k, v in TABLE.items()}})
    return answer(200, replies.get(seen.path, {"schemaName": "t", "dimensionFieldSpecs": []}))


def _arguments(name: str, folder: Path) -> list[str]:
    """Return arguments with which a command gets as far as its first request, if it is that simple."""
    words: list[str] = []
    for parameter in COMMANDS[name].params:
        if "--yes" in parameter.opts:
            words.append("--yes")
        if parameter.required or (isinstance(parameter, click.Argument) and parameter.name != "folder"):
            flag = [] if isinstance(parameter, click.Argument) else [parameter.opts[-1]]
            is_switch = isinstance(parameter, click.Option) and parameter.is_flag
            words += flag if is_switch else [*flag, _value(parameter, folder, name)]
    return words


def _value(parameter: click.Parameter, folder: Path, command: str) -> str:
    if isinstance(parameter.type, click.Choice):
        return str(parameter.type.choices[0])
    if isinstance(parameter.type, click.Path):
        return str(folder / ("as_code" if parameter.type.dir_okay else "table.json"))
    if isinstance(parameter.type, click.File):
        is_schema = "--schema" in parameter.opts or command.startswith("schema ")
        return str(folder / ("schema.json" if is_schema else "table.json"))
    if parameter.name == "sources":
        return str(folder / "table.json")
    if parameter.name == "path":
        return "/CONFIGS/TABLE/t_REALTIME"
    if parameter.name in ("query", "sql"):
        return "select 1"
    if parameter.name == "server":
        return "Server_h_1"
    return "t_OFFLINE" if command.startswith(("task ", "load")) else "t_REALTIME"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a user: a table's config, a folder of a cluster as code, a profile, secrets."""
    (tmp_path / "table.json").write_text(json.dumps(TABLE))
    (tmp_path / "schema.json").write_text(json.dumps({"schemaName": "t", "dimensionFieldSpecs": []}))
    (tmp_path / "task.json").write_text(json.dumps(_TASK))
    tables = tmp_path / "as_code" / "tables"
    tables.mkdir(parents=True)
    referring = {**TABLE, "metadata": {"customConfigs": {"key": "${env:PINOT_SECRET_KEY}"}}}
    (tables / "t_REALTIME.json").write_text(json.dumps(referring))
    (tmp_path / "as_code" / "cluster.yaml").write_text("owner: me\n")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "zookeeper").write_text("canary-of-zookeeper\n")
    (tmp_path / "user").write_text("canary-of-a-file\n")
    return tmp_path


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - NOT_RUN.keys()))
def test_no_command_shows_or_stores_a_secret(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def no_waiting(_clock: SystemClock, _seconds: float) -> None:
        raise UnreachableError("the test does not wait")

    monkeypatch.setattr(SystemClock, "sleep", no_waiting)
    store = MemoryPropertyStore()
    monkeypatch.setattr(MemoryPropertyStore, "__enter__", lambda self: self)
    monkeypatch.setattr(controller_client.zookeeper, "PropertyStore", lambda *_, **__: store)
    monkeypatch.chdir(folder)
    given = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    profile = folder / "pinotctl.toml"
    shared = {
        "PINOTCTL_CONFIG": str(profile),
        "PINOT_SECRET_KEY": "canary-reference",
        "PINOT_ZOOKEEPER": "z:1",
        "PINOT_ZOOKEEPER_AUTH": "digest",
        "PINOT_ZOOKEEPER_USERNAME": "me",
    }
    asked = 0
    words = [*name.split(), *_arguments(name, folder), *FURTHER.get(name, ())]
    for respond, has_token in ((echo(403), False), (echo(200), True), (honest, False)):
        with ScriptedServer() as server:
            server.answers = respond
            common = f'controller = "{server.url}"\nbroker = "{server.url}"\n'
            if has_token:
                profile.write_text(
                    f'[default]\n{common}token_file = "{folder}/token"\n'
                    f'zookeeper_password_file = "{folder}/zookeeper"\n'
                )
                own = {}
            else:
                profile.write_text(f"[default]\n{common}")
                own = {
                    "PINOT_USERNAME": "me",
                    "PINOT_PASSWORD": PASSWORD,
                    "PINOT_ZOOKEEPER_PASSWORD": "canary-of-zookeeper",
                    "PINOT_CONTROLLER_URL": server.url,
                    "PINOT_BROKER_URL": server.url,
                }
            done = CliRunner().invoke(cli, ["-vv", *words], env={**shared, **own})
        asked += len(server.requests)
        written = [
            path.read_text(encoding="utf-8", errors="replace")
            for path in folder.rglob("*")
            if path.is_file() and path != profile and given.get(path) != path.read_bytes()
        ]
        znodes = b"".join(data for data, _ in store.zookeeper.znodes.values()).decode("latin-1")
        arguments = "".join(repr(record.args) for record in caplog.records)
        places = {
            "output": done.output,
            "error": repr(done.exception),
            "files": "".join(written),
            "znodes": znodes,
            "log": caplog.text + arguments,
        }
        leaks = {
            place: text[max(0, at - 200) : at + 100]
            for place, text in places.items()
            for secret in SECRETS
            if (at := text.find(secret)) >= 0
        }
        assert leaks == {}
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert (asked > 0) == (name not in ASK_NOBODY)


def test_each_command_is_run_or_known() -> None:
    assert NOT_RUN.keys() <= COMMANDS.keys()


def test_no_flag_is_for_a_secret() -> None:
    flags = {
        flag
        for command in (cli, *COMMANDS.values())
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.is_flag
        for flag in parameter.opts
        if is_secret(flag)
    }
    assert {flag for flag in flags if not flag.endswith("-file")} == {"--secrets-env"}
    assert {"--password-file", "--token-file", "--new-password-file"} <= flags
