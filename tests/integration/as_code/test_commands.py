"""The commands export, diff, apply and drift."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from controller_client.cli import cli
from controller_client.client import ControllerClient
from controller_client.consumption.pausing import pause
from controller_client.zookeeper import PropertyStore
from tests.integration.as_code.table_files import table_documents
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka

pytestmark = pytest.mark.cluster

Run = Callable[..., Result]

_SECRET = "hunter2-of-the-test"
_DIFFERENCES = 4


@pytest.fixture
def run(pinot: PinotCluster) -> Run:
    def invoke(*arguments: object, code: int = 0, **env: str) -> Result:
        env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file", **env}
        result = CliRunner().invoke(cli, [str(each) for each in arguments], env=env)
        assert result.exit_code == code, result.output
        assert _SECRET not in result.output
        return result

    return invoke


@pytest.fixture
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with pinot.client() as client:
        yield client


@pytest.fixture
def folder(unique_table: str, tmp_path: Path) -> Path:
    """A folder with a table and its schema, with the table's name as the owner."""
    path = tmp_path / "folder"
    config, schema = table_documents(unique_table)
    _write(path / "cluster.yaml", {"owner": unique_table})
    _write(path / f"schemas/{unique_table}.yaml", schema)
    _write(path / f"tables/{unique_table}_OFFLINE.yaml", config)
    return path


def test_files_plans_and_output_contain_no_secrets(
    run: Run, client: ControllerClient, folder: Path, unique_table: str, tmp_path: Path
) -> None:
    file = folder / f"tables/{unique_table}_OFFLINE.yaml"
    config = yaml.safe_load(file.read_text())
    task = {"inputDirURI": "s3://x", "input.fs.prop.secretKey": "${env:S3_KEY}"}
    _write(file, {**config, "task": {"taskTypeConfigsMap": {"FileIngestionTask": task}}})
    missing = run("diff", folder, code=2)
    assert "the variable S3_KEY is not set" in missing.output
    plan = tmp_path / "plan.json"
    run("diff", folder, "--save", plan, code=_DIFFERENCES, S3_KEY=_SECRET)
    assert _SECRET not in plan.read_text()
    run("apply", plan, "--yes", S3_KEY=_SECRET)
    [stored] = client.configs.tables(unique_table).values()
    assert stored["task"]["taskTypeConfigsMap"]["FileIngestionTask"]["input.fs.prop.secretKey"] == _SECRET
    run("diff", folder, S3_KEY=_SECRET)
    run("diff", folder, "--keep-unset")
    other = run("diff", folder, code=_DIFFERENCES, S3_KEY="another")
    assert '"***" -> "${env:S3_KEY}"' in other.output
    assert "another" not in other.output
    exported = tmp_path / "exported"
    report = json.loads(run("export", exported, "--table", unique_table, "--output", "json").stdout)
    [variable] = report["variables"]
    assert variable == f"PINOT_{unique_table.upper()}_OFFLINE_INPUT_FS_PROP_SECRETKEY"
    assert all(_SECRET not in path.read_text() for path in exported.rglob("*.yaml"))
    run("diff", exported, **{variable: _SECRET})


def test_an_export_keeps_files_that_match(run: Run, folder: Path, unique_table: str) -> None:
    run("apply", folder, "--yes")
    file = folder / f"tables/{unique_table}_OFFLINE.yaml"
    text = "# a comment to keep\n" + file.read_text()
    file.write_text(text)
    assert (
        json.loads(run("export", folder, "--table", unique_table, "--output", "json").stdout)["written"] == []
    )
    assert file.read_text() == text


def test_drift_shows_what_others_changed_since_the_apply(
    run: Run, client: ControllerClient, folder: Path, unique_table: str
) -> None:
    run("apply", folder, "--yes")
    run("drift", folder)
    file = folder / f"tables/{unique_table}_OFFLINE.yaml"
    _write(file, {**yaml.safe_load(file.read_text()), "quota": {"storage": "1G"}})
    run("drift", folder)  # a file that is not applied yet is not drift
    name = f"{unique_table}_OFFLINE"
    config = client.tables.get(name).to_json()
    client._transport.request("PUT", f"/tables/{name}", json={**config, "query": {"timeoutMs": 17}})
    [row] = json.loads(run("drift", folder, "--output", "json", code=_DIFFERENCES).stdout)
    assert (row["object"], row["field"], row["cluster"]) == (f"tables/{name}", "/query/timeoutMs", "17")
    shown = run("diff", folder, code=_DIFFERENCES).output
    assert "- /query/timeoutMs: 17" in shown
    assert '+ /quota/storage: "1G"' in shown
    _write(folder / "cluster.yaml", {"owner": unique_table, "unmanaged": {"tables": ["/query"]}})
    run("drift", folder)
    run("apply", folder, "--yes")
    after = client.tables.get(name).to_json()
    assert (after["query"]["timeoutMs"], after["quota"]) == (17, {"storage": "1G"})


def test_prune_deletes_only_what_the_owner_applied(
    run: Run, client: ControllerClient, folder: Path, unique_table: str, tmp_path: Path
) -> None:
    run("apply", folder, "--yes")
    theirs = tmp_path / "theirs"
    _write(theirs / "cluster.yaml", {"owner": f"other-{unique_table}"})
    run("diff", theirs, "--prune")
    config = yaml.safe_load((folder / f"tables/{unique_table}_OFFLINE.yaml").read_text())
    _write(theirs / "tables/x.yaml", {**config, "quota": {"storage": "2G"}})
    refused = run("apply", theirs, "--yes", code=1)
    assert f"it belongs to the owner {unique_table}" in refused.output
    for file in [*folder.glob("tables/*"), *folder.glob("schemas/*")]:
        file.unlink()
    run("diff", folder)
    plan = run("diff", folder, "--prune", code=_DIFFERENCES).stdout
    assert plan.splitlines()[0].startswith(f"- delete tables/{unique_table}_OFFLINE")
    assert plan.splitlines()[1].startswith(f"- delete schemas/{unique_table}")
    run("apply", folder, "--prune", "--yes")
    assert not client.tables.exists(f"{unique_table}_OFFLINE")
    assert unique_table not in client.schemas.list()
    run("diff", folder, "--prune")


def test_a_misspelt_field_is_named_with_a_suggestion(run: Run, folder: Path, unique_table: str) -> None:
    file = folder / f"tables/{unique_table}_OFFLINE.yaml"
    config = yaml.safe_load(file.read_text())
    run("apply", folder, "--yes")
    config["tableIndexConfig"]["noDictionaryColums"] = ["n"]
    _write(file, config)
    shown = run("diff", folder, code=2).output
    assert (
        "Pinot does not know /tableIndexConfig/noDictionaryColums (did you mean noDictionaryColumns" in shown
    )


def test_tenants_and_tags_follow_the_files(run: Run, client: ControllerClient, tmp_path: Path) -> None:
    host = f"nowhere-{tmp_path.name.replace('_', '-')}"
    names = [f"Server_{host}_{port}" for port in (1, 2)]
    for port in (1, 2):
        document = {"host": host, "port": str(port), "type": "SERVER"}
        client._transport.request("POST", "/instances", json=document)
    tenant = f"T{host[-12:].replace('-', '')}"
    try:
        _write(tmp_path / "f/cluster.yaml", {"owner": tenant})
        of_tenant: dict[str, Any] = {
            "tenant": tenant,
            "offline_servers": names,
            "realtime_servers": names[:1],
        }
        _write(tmp_path / "f/tenants/x.yaml", of_tenant)
        _write(tmp_path / "f/instances/x.yaml", {"instance": names[1], "tags": ["rack7"]})
        run("diff", tmp_path / "f", code=_DIFFERENCES)
        run("apply", tmp_path / "f", "--yes")
        assert set(client.instances.tags(names[0])) == {f"{tenant}_OFFLINE", f"{tenant}_REALTIME"}
        assert set(client.instances.tags(names[1])) == {f"{tenant}_OFFLINE", "rack7"}
        run("diff", tmp_path / "f")
        client.instances.set_tags(names[1], ["rack8"])
        shown = run("drift", tmp_path / "f", code=_DIFFERENCES).output
        assert "/offline_servers" in shown
        assert "rack8" in shown
        _write(tmp_path / "f/tenants/x.yaml", {**of_tenant, "offline_servers": names[:1]})
        run("apply", tmp_path / "f", "--yes")
        assert set(client.instances.tags(names[1])) == {"server_untagged", "rack7"}
        _write(tmp_path / "f/tenants/x.yaml", {**of_tenant, "offline_servers": ["Server_none_1"]})
        assert "there is no instance Server_none_1" in run("apply", tmp_path / "f", "--yes", code=1).output
    finally:
        for name in names:
            client.instances.drop(name)


@pytest.mark.kafka
def test_pauses_follow_the_files(
    run: Run, pinot: PinotCluster, kafka: Kafka, client: ControllerClient, tmp_path: Path
) -> None:
    with (
        pinot.broker() as broker,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):
        table = StreamTable(pinot, kafka, client, broker, store, 1, None)
        try:
            table.create(replicas=1, rows_per_segment=100_000)
            name = str(table.table)
            words = ("--table", table.name, "--owner", table.name, "--output", "json")
            [variable] = json.loads(run("export", tmp_path, *words).stdout)["variables"]
            stream = client.configs.tables(table.name)[table.table]["tableIndexConfig"]["streamConfigs"]
            secrets = {variable: stream["sasl.jaas.config"]}
            file = tmp_path / f"consumption/{name}.yaml"
            assert yaml.safe_load(file.read_text()) == {"table": name, "paused": False}
            run("diff", tmp_path, **secrets)
            _write(file, {"table": name, "paused": True, "reason": "upgrade"})
            plan = json.loads(run("diff", tmp_path, "--output", "json", code=_DIFFERENCES, **secrets).stdout)
            assert [(step["action"], step["object"]) for step in plan["steps"]] == [
                ("pause", f"consumption/{name}")
            ]
            run("apply", tmp_path, "--approve", plan["id"], **secrets)
            assert client.consumption.pause_status(name).paused
            run("diff", tmp_path, **secrets)
            _write(file, {"table": name, "paused": False})
            run("apply", tmp_path, "--yes", **secrets)
            assert not client.consumption.pause_status(name).paused
            pause(table.control(), reason="a rewrite", holder="somebody")
            shown = run("apply", tmp_path, "--yes", code=1, **secrets).output
            assert "it is paused by" in shown
            assert client.consumption.pause_status(name).paused
        finally:
            table.drop()


def _write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
