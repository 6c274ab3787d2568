"""Configs with templates, which the controller answers with its environment filled in (before Pinot 1.3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from controller_client.client import ControllerClient
from controller_client.errors import AuthError, ConfigError, ConflictError, NotFoundError, RejectedError
from controller_client.models import TableConfig
from controller_client.rest.table_configs import with_templates
from pinotctl.root import cli
from tests.unit.controller_client.rest.conftest import Make
from tests.unit.controller_client.scripted_server import Seen, Step, answer

ENVIRONMENT = {"USER": "zoe", "PATH": "/bin:/usr/bin", "BROKERS": "kafka:9092", "PW": "hush"}
NAME = "t_OFFLINE"
CONFIG: dict[str, Any] = {
    "tableName": NAME,
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "${REPLICAS:2}"},
    "tenants": {"server": "${TENANT:DefaultTenant}", "broker": "DefaultTenant"},
    "tableIndexConfig": {
        "invertedIndexColumns": ["a", "${COLUMN:b}"],
        "streamConfigs": {"stream.kafka.broker.list": "${BROKERS}", "sasl.jaas.config": "${PW}"},
    },
    "metadata": {"customConfigs": {"who": "${USER:me}", "path": "${PATH}", "in": "a${USER:me}b"}},
    "task": {"taskTypeConfigsMap": {"X": {"dir": "${DIR:/data}", "key": " ${env:PINOT_SECRET_K}"}}},
    "isDimTable": False,
}


def filled(value: Any) -> Any:
    """A document as a controller fills it in."""
    if isinstance(value, dict):
        return {key: filled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each) for each in value]
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        name, _, default = value[2:-1].partition(":")
        return ENVIRONMENT.get(name, default)
    return value


def record_of(document: dict[str, Any]) -> dict[str, Any]:
    """Its record in ZooKeeper."""
    fields = {key: value if isinstance(value, str) else json.dumps(value) for key, value in document.items()}
    return {"id": NAME, "simpleFields": fields, "mapFields": {}, "listFields": {}}


class Controller:
    """Stores one table's config, and fills it in as versions before 1.3 do."""

    def __init__(self, document: dict[str, Any] | None, version: str = "0.11.0-1b4d") -> None:
        self.document = document
        self.version = version
        self.fills = True
        self.fails = False
        self.on_read: Callable[[], None] = lambda: None
        self.record: Step | None = None
        self.written: list[dict[str, Any]] = []

    def respond(self, seen: Seen) -> Step:
        query = {key: each[0] for key, each in parse_qs(urlsplit(seen.target).query).items()}
        match (seen.method, *seen.path.strip("/").split("/")):
            case ("GET", "version"):
                return answer(200, {"pinot-controller": self.version})
            case ("GET", "cluster", "info"):
                return answer(200, {"clusterName": "c"})
            case ("PUT", "tables", _):
                self.document = seen.json()
                self.written.append(seen.json())
                return answer(200, {"status": "updated"})
            case ("GET", "tables", "t"):
                if self.fails:
                    return answer(500, {"code": 500, "error": None})
                if self.document is None:
                    return answer(200, {})
                shown = filled(self.document) if self.fills else self.document
                step = answer(200, {"OFFLINE": shown})
                self.on_read()
                return step
            case ("GET", "zk", "get"):
                if query["path"] == "/c/PROPERTYSTORE/CONFIGS/TABLE/t_REALTIME":
                    return answer(404, {"code": 404, "error": "ZKPath does not exist"})
                assert query["path"] == f"/c/PROPERTYSTORE/CONFIGS/TABLE/{NAME}"
                if self.record is not None:
                    return self.record
                if self.document is None:
                    return answer(404, {"code": 404, "error": "ZKPath does not exist"})
                return answer(200, record_of(self.document))
        raise AssertionError(f"unexpected call {seen.method} {seen.target}")


@pytest.fixture
def controller(make: Make) -> tuple[Controller, ControllerClient]:
    client, server = make()
    made = Controller(CONFIG)
    server.answers = made.respond
    return made, client


def test_a_config_is_read_as_it_was_written(controller: tuple[Controller, ControllerClient]) -> None:
    made, client = controller
    for made.fills in (True, False):
        assert client.tables.get(NAME).to_json() == CONFIG
        assert client.configs.tables("t") == {NAME: CONFIG}
        assert client.configs.table(client.tables.get(NAME).name_with_type) == CONFIG
    made.fills = True
    assert client.tables.in_use(NAME).to_json() == filled(CONFIG)
    assert client.tables.task_config(NAME, "X") == {"dir": "/data", "key": " ${env:PINOT_SECRET_K}"}


def test_what_changes_a_config_keeps_its_templates(controller: tuple[Controller, ControllerClient]) -> None:
    made, client = controller
    client.tables.set_task_config(NAME, "Y", {"z": "${Z:1}"})
    changed = {
        **CONFIG,
        "task": {"taskTypeConfigsMap": {**CONFIG["task"]["taskTypeConfigsMap"], "Y": {"z": "${Z:1}"}}},
    }
    assert made.document == changed
    client.tables.set_task_config(NAME, "Y", None)
    assert made.document == CONFIG
    client.tables.set_tenants(NAME, broker="other")
    assert made.document == {**CONFIG, "tenants": {"server": "${TENANT:DefaultTenant}", "broker": "other"}}
    sent = json.dumps(made.written)
    assert not [value for value in ENVIRONMENT.values() if f'"{value}"' in sent]


def test_a_config_without_templates_is_the_controllers_answer(
    controller: tuple[Controller, ControllerClient],
) -> None:
    made, client = controller
    plain = {**filled(CONFIG), "tableIndexConfig": {}}
    made.document = plain
    # The record of an older version lacks what the present one answers with.
    made.record = answer(200, record_of({key: plain[key] for key in ("tableName", "tableType", "metadata")}))
    assert client.tables.get(NAME).to_json() == plain


def test_a_table_that_is_not_there(controller: tuple[Controller, ControllerClient]) -> None:
    made, client = controller
    made.document = None
    for read in (client.tables.get, client.tables.in_use):
        with pytest.raises(NotFoundError, match=f"there is no table {NAME}"):
            read(NAME)
    assert client.configs.tables("t") == {}
    made.document, made.record = CONFIG, answer(404, {"code": 404, "error": "gone"})
    with pytest.raises(NotFoundError):
        client.tables.get(NAME)


def test_a_config_that_the_controller_itself_cannot_read(
    controller: tuple[Controller, ControllerClient],
) -> None:
    """A variable without a default is not set: versions before 1.3 then answer with 500."""
    made, client = controller
    made.fails = True
    with pytest.raises(RejectedError):
        client.tables.in_use(NAME)
    assert client.tables.get(NAME).to_json() == CONFIG
    assert client.configs.tables("t") == {NAME: CONFIG}
    made.document = {key: value for key, value in CONFIG.items() if key in ("tableName", "tableType")}
    with pytest.raises(RejectedError):
        client.tables.get(NAME)


def test_a_config_that_changes_meanwhile(controller: tuple[Controller, ControllerClient]) -> None:
    made, client = controller
    changes = iter(range(3))

    def change() -> None:
        number = next(changes, None)
        if number is not None:
            made.document = {**CONFIG, "metadata": {"customConfigs": {"who": f"${{USER:{number}}}"}}}

    made.on_read = change
    assert client.tables.get(NAME).to_json() == made.document
    changes = iter(range(100))
    with pytest.raises(ConflictError, match=f"the config of {NAME} is being changed"):
        client.tables.get(NAME)


@pytest.mark.parametrize("status", [401, 403])
def test_a_user_who_may_not_read_records(make: Make, status: int) -> None:
    for version, allowed in (("0.11.0-1b4d", False), ("1.2.0", False), ("1.3.0", True), ("1.5.1", True)):
        client, server = make()
        made = Controller(CONFIG, version)
        made.fills, made.record = (
            not allowed,
            answer(status, {"code": status, "error": "Permission is denied"}),
        )
        server.answers = made.respond
        if allowed:
            assert client.tables.get(NAME).to_json() == CONFIG
            continue
        with pytest.raises(AuthError, match="the config of t cannot be read as it was written") as caught:
            client.tables.set_task_config(NAME, "X", None)
        assert "GET /zk/get" in str(caught.value)
        assert made.written == []


def test_a_record_in_another_form_than_the_answer(controller: tuple[Controller, ControllerClient]) -> None:
    made, client = controller
    other = {**CONFIG, "tableIndexConfig": {"oldColumns": ["${COLUMN:b}"]}}
    made.record = answer(200, record_of(other))
    with pytest.raises(ConflictError, match=r"t_OFFLINE\.tableIndexConfig has a template in ZooKeeper"):
        client.tables.get(NAME)


TEXTS = st.sampled_from(
    ["a", "${USER}", "${USER:me}", "${NONE:x:y}", "${NONE:}", "x${USER}", "${USER}x", "", "$"]
)
DOCUMENTS = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(document=DOCUMENTS, more=st.dictionaries(st.sampled_from("xyz"), st.integers(), max_size=2))
def test_every_template_is_restored(document: Any, more: dict[str, int]) -> None:
    assert with_templates(filled(document), document, "t") == document
    assert with_templates(document, document, "t") == document
    if isinstance(document, dict):
        # The controller adds defaults.
        assert with_templates({**filled(document), **more}, document, "t") == {**document, **more}


@given(document=DOCUMENTS, other=DOCUMENTS)
def test_no_template_is_lost(document: Any, other: Any) -> None:
    """Whatever the controller answers: the templates are in the result, or it is refused."""
    try:
        found = with_templates(filled(other), document, "t")
    except ConflictError:
        return
    assert sorted(templates(document)) == sorted(templates(found))


def templates(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in templates(each)]
    if isinstance(value, list):
        return [text for each in value for text in templates(each)]
    return [value] if isinstance(value, str) and value.startswith("${") and value.endswith("}") else []


def test_a_model_keeps_templates() -> None:
    assert TableConfig.from_json(CONFIG).to_json() == CONFIG


def test_a_reference_that_pinot_would_take_for_a_template_is_not_written(make: Make) -> None:
    bare = {"dir": "${env:HUSH}", "ok": " ${env:K}", "own": "${NAME:env:}"}
    present = {"tableName": NAME, "tableType": "OFFLINE", "task": {"taskTypeConfigsMap": {"X": bare}}}
    present["ingestionConfig"] = {"list": [{"x": "y"}, {"x": "${file:hush}"}]}
    client, server = make()
    creates: list[Callable[[], None]] = [
        lambda: client.tables.create(TableConfig.from_json(present)),
        lambda: client.configs.create_table(present),
    ]
    for create in creates:
        with pytest.raises(ConfigError) as caught:
            create()
        assert "task.taskTypeConfigsMap.X.dir, ingestionConfig.list.1.x" in str(caught.value)
        assert "hush" not in str(caught.value).lower()
    assert not server.requests


def test_only_new_references_are_refused_in_an_update(
    controller: tuple[Controller, ControllerClient],
) -> None:
    made, client = controller
    made.version = "1.5.1-abc"
    made.fills = False
    made.document = {**CONFIG, "task": {"taskTypeConfigsMap": {"X": {"key": "${env:OLD}"}}}}
    client.tables.set_task_config(NAME, "X", {"key": "${env:OLD}", "more": " ${env:NEW}"})
    with pytest.raises(ConfigError, match=r"task\.taskTypeConfigsMap\.X\.more"):
        client.tables.set_task_config(NAME, "X", {"key": "${env:OLD}", "more": "${env:NEW}"})
    assert len(made.written) == 1


def test_a_file_with_such_a_reference_does_not_replace_a_config(
    controller: tuple[Controller, ControllerClient], tmp_path: Path
) -> None:
    made, client = controller
    file = tmp_path / "t.json"
    file.write_text(json.dumps({**CONFIG, "metadata": {"customConfigs": {"key": "${env:PINOT_SECRET_K}"}}}))
    done = CliRunner().invoke(cli, ["--controller", client.config.url, "table", "update", str(file)])
    assert (done.exit_code, "metadata.customConfigs.key" in done.stderr) == (2, True), done.output
    assert "put a blank before the reference" in done.stderr
    assert not made.written
