"""The values of references reach the cluster when a plan is applied, not before, and nothing else, ever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from controller_client.as_code import (
    Applier,
    References,
    applying,
    export_cluster,
    find_drift,
    read_folder,
)
from controller_client.as_code.inventory import Inventory
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.client import ControllerClient
from controller_client.consumption.recipes.stream_change import KEPT_SECRETS
from controller_client.errors import ConfigError, RejectedError
from tests.unit.controller_client.rest.conftest import Make, make
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.memory_zookeeper import MemoryPropertyStore

__all__ = ["make"]

SECRET = "hunter2-is-secret"
ENV = {"PINOT_SECRET_KEY": SECRET, "PINOT_SECRET_REPLICAS": "3"}
SCHEMA = {"schemaName": "t", "dimensionFieldSpecs": [{"name": "a", "dataType": "STRING"}]}
FIXED: dict[str, object] = {
    "GET /version": {"pinot-controller": "1.5.1-abc"},
    "GET /cluster/info": {"clusterName": "c"},
    "GET /databases": [],
    "GET /schemas": ["t"],
    "GET /schemas/t": SCHEMA,
    "GET /instances": {"instances": []},
    "GET /tables/t_OFFLINE/idealstate": {"OFFLINE": {}},
    "POST /tableConfigs/validate": {},
}
TABLE = ObjectRef(Kind.TABLE, "t_OFFLINE")


def config(**custom: Any) -> dict[str, Any]:
    return {
        "tableName": "t_OFFLINE",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1"},
        "tenants": {"broker": "DefaultTenant", "server": "DefaultTenant"},
        "metadata": {"customConfigs": custom},
    }


class Controller:
    """Has one schema and at most one table; answers a check with the document, changed by `read`."""

    def __init__(self, table: dict[str, Any] | None) -> None:
        self.table = table
        self.read: Any = lambda document: document
        self.refuses: Any = lambda seen: None

    def respond(self, seen: Seen) -> Step:
        reason = self.refuses(seen)
        if reason is not None:
            return answer(400, {"code": 400, "error": reason})
        match (seen.method, *seen.path.strip("/").split("/")):
            case ("GET", "tables"):
                return answer(200, {"tables": [] if self.table is None else ["t"]})
            case ("GET", "tables", "t"):
                return answer(200, {} if self.table is None else {"OFFLINE": self.table})
            case ("GET", "zk", "get"):
                record = {"code": 404, "error": "ZKPath does not exist"}
                return answer(404, record) if self.table is None else answer(200, {"simpleFields": {}})
            case ("POST", "tables", "validate"):
                return answer(200, {"OFFLINE": self.read(seen.json())})
            case ("POST", "tables") | ("PUT", "tables", "t_OFFLINE"):
                self.table = self.read(seen.json())
                return answer(200, {"status": "done"})
        return answer(200, FIXED[f"{seen.method} {seen.path}"])


class Cluster:
    """A cluster with one table, and a folder with files for it."""

    def __init__(self, client: ControllerClient, server: ScriptedServer, path: Path) -> None:
        self.client, self.server, self.path = client, server, path
        self.controller = Controller(config(old="x"))
        server.answers = self.controller.respond
        self.store = MemoryPropertyStore()
        self.settings: dict[str, Any] = {"owner": "us"}

    def applier(self, document: Mapping[str, Any], env: Mapping[str, str] = ENV, **options: Any) -> Applier:
        (self.path / "tables").mkdir(parents=True, exist_ok=True)
        (self.path / "cluster.yaml").write_text(json.dumps(self.settings))
        (self.path / "tables" / "t.json").write_text(json.dumps(document))
        prefixes = options.pop("prefixes", ())
        references = References(env, self.path, prefixes)
        return Applier(self.client, self.store, read_folder(self.path), references, **options)

    def sent(self) -> str:
        return "\n".join(seen.body.decode() for seen in self.server.requests)

    def recorded(self) -> str:
        return json.dumps(Inventory(self.store, "us").entries()[TABLE].applied)


class FreeLock:
    """A lock of which nobody else knows: the store in memory has no sessions."""

    lost = False

    def __init__(self, *_: object) -> None: ...

    def acquire(self, wait_s: float) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def cluster(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(applying, "ClusterLock", FreeLock)
    return Cluster(*make(), tmp_path / "folder")


@pytest.mark.parametrize("exists", [True, False])
def test_a_value_is_sent_when_the_plan_is_applied_and_not_before(cluster: Cluster, exists: bool) -> None:
    if not exists:
        cluster.controller.table = None
    wanted = config(description="user=${env:PINOT_SECRET_KEY};x")
    wanted["segmentsConfig"]["replication"] = "${env:PINOT_SECRET_REPLICAS}"
    plan = cluster.applier(wanted).plan().plan
    assert plan.has_changes
    assert not plan.refused
    assert SECRET not in cluster.sent()
    assert SECRET not in json.dumps(plan.to_json())
    assert "user=${env:PINOT_SECRET_KEY};x" in json.dumps(plan.to_json())
    # Another process makes the same plan, although its placeholders are others.
    assert cluster.applier(wanted).plan().plan.id == plan.id
    if not exists:
        return
    cluster.applier(wanted).apply(plan)
    assert cluster.controller.table is not None
    assert cluster.controller.table["metadata"]["customConfigs"] == {"description": f"user={SECRET};x"}
    assert cluster.controller.table["segmentsConfig"]["replication"] == "3"
    assert SECRET not in cluster.recorded()
    assert not cluster.applier(wanted).plan().plan.has_changes


def test_a_field_that_pinot_copies_is_shown_with_its_reference(cluster: Cluster) -> None:
    def copied(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "description": document["metadata"]["customConfigs"]["plain"]}

    cluster.controller.read = copied
    wanted = config(plain="${env:PINOT_SECRET_KEY}")
    plan = cluster.applier(wanted).plan().plan
    [update] = [step for step in plan.steps if step.ref == TABLE]
    assert {field.field: field.new for field in update.fields}["/description"] == "${env:PINOT_SECRET_KEY}"
    cluster.applier(wanted).apply(plan)
    assert cluster.controller.table is not None
    assert cluster.controller.table["description"] == SECRET
    assert SECRET not in json.dumps(plan.to_json())
    assert SECRET not in cluster.recorded()


@pytest.mark.parametrize("path", ["/tables/validate", "/tableConfigs/validate"])
def test_a_refusal_that_quotes_a_field_is_shown_with_its_reference(cluster: Cluster, path: str) -> None:
    def quoted(seen: Seen) -> str | None:
        if seen.path != path:
            return None
        document = seen.json().get("offline", seen.json())
        return f"Cannot deserialize from String {document['metadata']['customConfigs']['plain']!r}"

    cluster.controller.refuses = quoted
    [step] = cluster.applier(config(plain="${env:PINOT_SECRET_KEY}")).plan().plan.steps
    assert step.refusal is not None
    assert "from String '${env:PINOT_SECRET_KEY}' (it was checked with placeholders" in step.refusal
    [step] = cluster.applier(config(plain="x")).plan().plan.steps
    assert step.refusal == "Cannot deserialize from String 'x'"


def test_an_error_of_the_apply_itself_has_no_value(cluster: Cluster) -> None:
    cluster.controller.refuses = lambda seen: f"no: {seen.body.decode()}" if seen.method == "PUT" else None
    applier = cluster.applier(config(plain="${env:PINOT_SECRET_KEY}"))
    plan = applier.plan().plan
    with pytest.raises(RejectedError) as caught:
        applier.apply(plan)
    assert SECRET in cluster.sent()
    assert "no: " in str(caught.value)
    assert "***" in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {vars(error)} {error.args}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_the_old_value_of_a_field_with_a_reference_is_masked(cluster: Cluster) -> None:
    cluster.controller.table = config(plain="the-secret-of-yesterday")
    [step] = cluster.applier(config(plain="${env:PINOT_SECRET_KEY}")).plan().plan.steps
    [field] = step.fields
    assert (field.old, field.new) == ("***", "${env:PINOT_SECRET_KEY}")


def test_a_value_that_is_kept_is_not_sent_either(cluster: Cluster) -> None:
    cluster.controller.table = config(plain=SECRET)
    wanted = config(plain="${env:PINOT_SECRET_KEY}", more="x")
    plan = cluster.applier(wanted, {}, keep_unset=True).plan().plan
    assert SECRET not in cluster.sent()
    [step] = plan.steps
    assert [field.field for field in step.fields] == ["/metadata/customConfigs/more"]


@pytest.mark.parametrize("kind", ["instances", "tenants", "consumption"])
def test_a_value_of_the_wrong_type_is_not_quoted(cluster: Cluster, kind: str) -> None:
    documents = {
        "instances": {"instance": "Server_h_1", "tags": "${env:PINOT_SECRET_KEY}"},
        "tenants": {"tenant": "T", "brokers": "${env:PINOT_SECRET_KEY}"},
        "consumption": {"table": "t_REALTIME", "paused": "${env:PINOT_SECRET_KEY}"},
    }
    (cluster.path / kind).mkdir(parents=True)
    (cluster.path / kind / "x.json").write_text(json.dumps(documents[kind]))
    with pytest.raises(ConfigError) as caught:
        cluster.applier(config()).plan()
    assert f"{kind}/x.json" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_value_that_is_a_name_is_neither_in_a_pointer_nor_in_a_reason(cluster: Cluster) -> None:
    (cluster.path / "tenants").mkdir(parents=True)
    tenant = {"tenant": "T", "brokers": ["${env:PINOT_SECRET_KEY}"]}
    (cluster.path / "tenants" / "x.json").write_text(json.dumps(tenant))
    fields = [{"name": "${env:PINOT_SECRET_KEY}", "fieldType": "x"}]
    wanted = {**config(), "fieldConfigList": fields}
    cluster.controller.table = {**config(), "fieldConfigList": [{"name": SECRET, "fieldType": "y"}]}
    plan = cluster.applier(wanted).plan().plan
    assert [step.ref.kind for step in plan.steps] == [Kind.TENANT, Kind.TABLE]
    assert "there is no instance" in str(plan.steps[0].refusal)
    assert SECRET not in json.dumps(plan.to_json())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${env:PINOT_TOKEN}", "may not use the variable PINOT_TOKEN"),
        ("${env:PATH}", "may not use the variable PATH: expected a name that starts with PINOT_SECRET_"),
        ("${file:/proc/self/environ}", "may not use the file /proc/self/environ"),
        ("${file:../outside}", "may not use the file ../outside"),
        ("${file:~/.aws/credentials}", "may not use the file ~/.aws/credentials"),
        ("$${env:PINOT_SECRET_KEY}", "metadata.customConfigs.plain"),
    ],
)
def test_a_pull_request_cannot_read_the_process(cluster: Cluster, text: str, message: str) -> None:
    (cluster.path.parent / "outside").write_text(SECRET)
    env = {**ENV, "PINOT_TOKEN": SECRET, "PATH": SECRET}
    with pytest.raises(ConfigError, match=r"tables/t\.json") as caught:
        cluster.applier(config(plain=text), env).plan()
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("keep_unset", [True, False])
def test_a_reference_that_is_not_allowed_is_no_unset_one(cluster: Cluster, keep_unset: bool) -> None:
    cluster.controller.table = config(plain="x")
    wanted = config(plain="${env:TEAM_KEY}")
    env = {"TEAM_KEY": "x"}
    with pytest.raises(ConfigError, match="references may not use the variable TEAM_KEY") as caught:
        cluster.applier(wanted, env, keep_unset=keep_unset).plan()
    assert "--keep-unset" not in str(caught.value)
    assert not cluster.applier(wanted, env, keep_unset=keep_unset, prefixes=["TEAM_"]).plan().plan.steps


def test_a_folder_may_restrict_itself_and_never_widens_what_the_process_allows(cluster: Cluster) -> None:
    cluster.settings["secrets"] = ["TEAM_"]
    env = {"TEAM_KEY": "x", **ENV}
    cluster.controller.table = config(plain="x")
    for text, prefixes in (("${env:TEAM_KEY}", ()), ("${env:PINOT_SECRET_KEY}", ("TEAM_",))):
        with pytest.raises(ConfigError, match="references may not use the variable"):
            cluster.applier(config(plain=text), env, prefixes=prefixes).plan()
    allowed = cluster.applier(config(plain="${env:TEAM_KEY}"), env, prefixes=["TEAM_"])
    assert not allowed.plan().plan.steps


def test_the_old_secrets_of_an_unfinished_stream_change_are_not_exported_nor_changed(
    cluster: Cluster,
) -> None:
    kept = json.dumps({"id": {"sasl.jaas.config": SECRET, "amqp.pass": SECRET}})
    cluster.controller.table = config(**{KEPT_SECRETS: kept, "plain": "x"})
    report = export_cluster(cluster.client, cluster.path, owner="us")
    assert report.unfinished == (TABLE,)
    assert not report.variables
    files = [path.read_text() for path in cluster.path.rglob("*.yaml")]
    assert not any(SECRET in text or KEPT_SECRETS in text for text in files)
    references = References({}, cluster.path)
    applier = Applier(cluster.client, cluster.store, read_folder(cluster.path), references)
    plan = applier.plan().plan
    assert not plan.has_changes
    applier.apply(plan)
    assert SECRET not in cluster.recorded()
    cluster.controller.table = config(plain="x")
    assert not export_cluster(cluster.client, cluster.path).unfinished


def test_an_export_needs_no_values_and_keeps_references_of_any_name(cluster: Cluster) -> None:
    cluster.controller.table = config(plain=SECRET)
    cluster.applier(config(plain="${env:OTHER}"))
    (cluster.path / "tables" / "t.json").rename(cluster.path / "tables" / "t_OFFLINE.json")
    report = export_cluster(cluster.client, cluster.path, as_json=True)
    assert report.objects == 2
    assert (cluster.path / "tables" / "t_OFFLINE.json").read_text().count("${env:OTHER}") == 1


def test_what_an_older_release_recorded_in_the_clear_is_no_drift(cluster: Cluster) -> None:
    cluster.controller.table = config(**{"sasl.pwd": SECRET, "plain": "x", "moved": SECRET})
    applied = config(**{"sasl.pwd": SECRET, "plain": "y", "moved": "${env:PINOT_SECRET_KEY}"})
    inventory = Inventory(cluster.store, "us")
    inventory.record_applied(TABLE, applied, plan="p", at_ms=1, by="me")
    cluster.applier(config())
    [drifted] = find_drift(cluster.client, cluster.store, read_folder(cluster.path))
    assert [(each.path, each.old, each.new) for each in drifted.fields] == [
        ("/metadata/customConfigs/plain", "y", "x")
    ]
