"""Canaries in the place of secrets: they must be in nothing that is shown, logged or stored."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import BasicAuth, BearerToken, BrokerConfig, ControllerConfig, Secret
from controller_client.errors import PinotPluginError
from jvm_bridge.minion import MinionSettings
from minion_tasks.file_ingestion.engine.group_run import merge_result
from minion_tasks.file_ingestion.engine.staging_builder import BuildResult
from minion_tasks.file_ingestion.engine.subtask import SubtaskCluster, subtasks_of
from minion_tasks.file_ingestion.params.registration import register_task
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, SessionState
from pinot_airflow.access import EXTRAS, ClusterAddress
from pinotctl.root import cli
from pinotctl.settings import SETTINGS, Settings
from spark_connectors.options import ReadOptions, WriteOptions, parse_options
from spark_connectors.options.declared import declared
from spark_connectors.read.server_query import ServerQuery
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.minion_tasks.samples import file, make_params, make_session, make_store

CANARY = "canary"
VERSION = {"pinot-controller": "1.5.1"}
XML = {"Content-Type": "application/xml"}
TABLE_CONFIG = {"OFFLINE": {"tableName": "t_OFFLINE", "tableType": "OFFLINE", "segmentsConfig": {}}}


def table_answers(config: dict[str, Any]) -> Callable[[Seen], Step]:
    """Answers to requests about a table: its config, the record of that, a schema."""
    fields = config["OFFLINE"].items()
    record = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields}
    answers = {
        "/tables/t": config,
        "/tables/t_OFFLINE": config,
        "/tables/t_REALTIME": {},
        "/cluster/info": {"clusterName": "c"},
        "/zk/get": {"simpleFields": record},
        "/version": VERSION,
    }
    return lambda seen: answer(200, answers.get(seen.path, {"schemaName": "t"}))


@pytest.fixture(autouse=True)
def _silent_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Every logger of the process, at every level."""
    caplog.set_level(logging.DEBUG)
    yield
    assert CANARY not in caplog.text
    assert not [record for record in caplog.records if CANARY in repr(record.args)]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PINOT_SECRET_ACCESS", "canary-access")
    monkeypatch.setenv("PINOT_SECRET_PASSWORD", "canary-password")
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "key").write_text("canary-key\n")
    monkeypatch.setenv("PINOT_PLUGINS_SECRETS_DIR", str(folder))


def s3_params(endpoint: str, **changes: str) -> FileIngestionParams:
    return make_params(
        **{
            "inputDirURI": "s3://b/in",
            "input__fs__prop__region": "us-east-1",
            "input__fs__prop__endpoint": endpoint,
            "input__fs__prop__accessKey": " ${env:PINOT_SECRET_ACCESS}",
            "input__fs__prop__secretKey": "${file:key}",
            **changes,
        }
    )


def test_a_subtask_reaches_its_source_with_what_references_stand_for_and_shows_none_of_it() -> None:
    echo = "<Error><Code>AccessDenied canary-key</Code><Message>canary-access</Message></Error>"
    with ScriptedServer(answer(403, echo, XML)) as server:
        params = s3_params(server.url)
        with pytest.raises(PinotPluginError) as caught:
            list(params.stores.source.list(None).files)
        assert "Credential=canary-access/" in server.requests[0].headers["Authorization"]
    sessions, memory = make_store()
    session = make_session(state=SessionState.IN_PROGRESS)
    group = FileGroup(0, (FileEntry(0, file("a")),))
    sessions.create(session)
    sessions.create_group(
        session.session_id,
        merge_result(group, BuildResult(None, {0: caught.value}), 1, skip_unreadable=False),
    )
    znodes = b"".join(data for data, _ in memory.nodes.values()).decode("latin-1")
    znodes += repr(sessions.group(session.session_id, 0))
    assert "AccessDenied" in znodes
    [subtask] = subtasks_of(session, [[0]])
    shown = [repr(params), str(params), repr(params.stores), repr(params.stores.source), znodes]
    shown += [str(caught.value), repr(caught.value), json.dumps(subtask.to_configs()), repr(subtask)]
    assert CANARY not in "".join(shown)


def test_references_of_tasks_that_cannot_be_resolved_show_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for changes in (
        {"input__fs__prop__secretKey": "${env:PINOT_SECRET_NONE}canary"},
        {"input__fs__prop__secretKey": "canary${file:none}"},
        {"input__fs__prop__endpoint": "http://127.0.0.1:9/${env:PINOT_SECRET_PASSWORD}"},
        {"input__fs__prop__endpoint": "http://127.0.0.1:9", "input__fs__prop__region": "${file:key}"},
    ):
        with pytest.raises(PinotPluginError) as caught:
            list(s3_params("http://127.0.0.1:9", **changes).stores.source.list(None).files)
        assert CANARY not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_table_that_is_opened_elsewhere_needs_no_secret_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINOT_SECRET_ACCESS")
    params = s3_params("http://127.0.0.1:9", outputDirURI="s3://b/out")
    with pytest.raises(PinotPluginError, match=r"input\.fs\.prop\.accessKey cannot be resolved"):
        params.stores.staging("s3://b/out/x")


@pytest.mark.parametrize("cls", [ReadOptions, WriteOptions])
def test_options_of_spark_travel_with_references(cls: type[ReadOptions | WriteOptions]) -> None:
    given = {
        "table": "t",
        "controller": "http://localhost:9000",
        "fs.prop.secretkey": "${file:key}",
        "fs.prop.accesskey": "${env:PINOT_SECRET_ACCESS}",
    }
    basic = parse_options(cls, {**given, "username": "me", "password": "${env:PINOT_SECRET_PASSWORD}"})
    bearer = parse_options(cls, {**given, "authToken": "${file:key}"})
    assert basic.controller_config().auth == BasicAuth("me", Secret("canary-password"))
    assert bearer.controller_config().auth == BearerToken(Secret("canary-key"))
    assert basic.resolved_fs_properties() == {"secretKey": "canary-key", "accessKey": "canary-access"}
    for options in (basic, bearer):
        assert CANARY.encode() not in pickle.dumps(options)
        assert CANARY not in repr(options) + repr(options.controller_config())
    if isinstance(basic, ReadOptions):
        assert CANARY not in repr(ServerQuery.of(basic))


@pytest.mark.parametrize("cls", [ReadOptions, WriteOptions])
def test_no_option_of_spark_shows_a_secret_that_is_in_clear(cls: type[ReadOptions | WriteOptions]) -> None:
    hidden = {each.name for each in fields(cls) if not each.repr}
    secret = {each.name for attribute, each in declared(cls) if attribute in hidden}
    assert secret == {"password", "authToken", "fs.prop.", "zookeeper."}
    given = {
        "table": "t",
        "controller": "http://me:canary@localhost:9000",
        "fs.prop.secretKey": "canary",
        "zookeeper.auth": "digest",
        "zookeeper.username": "me",
        "zookeeper.password": "canary",
        "stagingUri" if cls is WriteOptions else "broker": "http://me:canary@localhost:8099",
    }
    options = parse_options(cls, given)
    assert CANARY not in repr(options) + str(options)
    for wrong in ({"authToken": "canary canary"}, {"password": "canary"}, {"secretKey": "canary"}):
        with pytest.raises(PinotPluginError) as caught:
            parse_options(cls, {**given, **wrong})
        assert CANARY not in str(caught.value)


def test_what_pinotctl_shows_of_a_task_has_no_secret(tmp_path: Path) -> None:
    secrets = {
        "input.fs.prop.secretKey": "canary",
        "input.fs.prop.accessKey": "canary",
        "output.fs.prop.secretKey": "${file:key}",
    }
    configs = {"inputDirURI": "s3://b/in", "inputFormat": "csv", "outputDirURI": "s3://b/o", **secrets}
    written = tmp_path / "task.json"
    written.write_text(json.dumps(configs))
    task = {"taskTypeConfigsMap": {"FileIngestionTask": configs}}
    live = {"OFFLINE": {**TABLE_CONFIG["OFFLINE"], "task": task}}
    for output in ("json", "table"):
        for command in (("register", "t", "--file", str(written), "--dry-run"), ("show", "t")):
            with ScriptedServer() as server:
                server.answers = table_answers(live)
                arguments = ["-vv", "--controller", server.url, "task", *command, "--output", output]
                done = CliRunner().invoke(cli, arguments)
            assert done.exit_code == 0, done.output
            assert "${file:key}" in done.stdout
            assert CANARY not in done.output


def test_a_reference_is_registered_so_that_pinot_leaves_it_alone() -> None:
    configs = {"inputDirURI": "s3://b/in", "inputFormat": "csv", "input.fs.prop.secretKey": "${file:key}"}
    configs["input.fs.prop.accessKey"] = "${env:PINOT_SECRET_ACCESS}/${file:key}"
    # Pinot's own templates begin with "${" and end with "}".
    secrets = ("input.fs.prop.secretKey", "input.fs.prop.accessKey")
    guarded = {key: f" {configs[key]}" for key in secrets}
    registered = {"taskTypeConfigsMap": {"FileIngestionTask": {**configs, **guarded}}}
    live = {"OFFLINE": {**TABLE_CONFIG["OFFLINE"], "task": registered}}
    with ScriptedServer() as server:
        before, after = table_answers(TABLE_CONFIG), table_answers(live)

        def by_state(seen: Seen) -> Step:
            is_written = any(request.method == "PUT" for request in server.requests)
            return (after if is_written else before)(seen)

        server.answers = by_state
        with ControllerClient(ControllerConfig(server.url)) as client:
            register_task(client.tables, TableName("t_OFFLINE"), configs)
        [put] = [request for request in server.requests if request.method == "PUT"]
        sent = put.json()["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    assert sent == {**configs, **guarded}
    assert FileIngestionParams.from_configs(sent).input_fs["secretKey"] == " ${file:key}"


def test_the_settings_of_pinotctl_are_masked(tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.write_text("canary\n")
    flags = {setting.key: str(held) for setting in SETTINGS if setting.secret}
    assert len(flags) == 3
    settings = Settings({**flags, "controller": "http://me:canary@localhost:1"}, {})
    assert CANARY not in repr([settings[each.name] for each in SETTINGS])
    assert CANARY not in repr([settings[each.name].shown for each in SETTINGS])
    environment = {"PINOT_PASSWORD": "canary", "PINOT_CONTROLLER_URL": "http://me:canary@localhost:1"}
    for output in ("json", "table"):
        done = CliRunner().invoke(cli, ["config", "show", "--output", output], env=environment)
        assert done.exit_code == 0, done.output
        assert CANARY not in done.output


def test_no_address_of_a_cluster_shows_its_credentials(tmp_path: Path) -> None:
    controller = ControllerConfig("http://me:canary@localhost:9000")
    token = ControllerConfig("http://localhost:9000", auth=BearerToken(Secret("canary")))
    airflow = airflow_address({"token": "canary"}, None, None)
    logged_in = airflow_address({}, "me", "canary")
    assert "token" in EXTRAS
    minion = MinionSettings(token, "zk:1", "c", "h", 1, tmp_path)
    things: list[Any] = [controller, token, airflow, logged_in, minion]
    things += [SubtaskCluster(controller, "zk:1", "c")]
    things += [BrokerConfig.like(token, ("http://b:1",)), BrokerConfig(("http://me:canary@localhost:1",))]
    assert all(map(is_dataclass, things))
    with ControllerClient(token) as client:
        assert CANARY not in repr(things) + str(things) + repr(client) + repr(vars(client))


def airflow_address(extra: dict[str, Any], login: str | None, password: str | None) -> ClusterAddress:
    """Of the fields of Airflow's connection that are read."""
    fields_read = {"conn_id": "pinot_default", "host": "controller", "port": None, "schema": None}
    given = SimpleNamespace(**fields_read, extra_dejson=extra, login=login, password=password)
    return ClusterAddress.of(cast("Any", given))


def test_the_parameters_of_a_store_of_another_library_are_read_without_it() -> None:
    params = make_params(inputDirURI="gs://b/in", input__fs__prop__projectId="p", outputDirURI="gs://b/out")
    assert "source" not in vars(params.stores)
