"""The commands export, diff, apply and drift."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from controller_client.client import ControllerClient
from controller_client.consumption.pauses.pausing import pause
from tests.integration.as_code.table_files import LOCK_WAIT_S, table_documents
from tests.integration.consumption.conftest import MakeTable, make_stream_table, store
from tests.integration.pinotctl.conftest import Run
from tests.support.cluster import PinotCluster

__all__ = ["make_stream_table", "store"]

pytestmark = pytest.mark.cluster

_SECRET = "hunter2-of-the-test"
_DIFFERENCES = 4


class _Commands(Run):
    """Checks that no output contains the secret, and waits for the applies of other tests."""

    def __call__(self, *words: object, code: int = 0, stdin: str | None = None, **env: str) -> Result:
        wait = ("--lock-wait", LOCK_WAIT_S) if words[0] == "apply" else ()
        result = super().__call__(*words, *wait, code=code, stdin=stdin, **env)
        assert _SECRET not in result.output
        return result


@pytest.fixture
def run(pinot: PinotCluster) -> Run:
    return _Commands(pinot.controller_url)


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


@pytest.fixture
def file(folder: Path, unique_table: str) -> Path:
    """The table's file."""
    return folder / f"tables/{unique_table}_OFFLINE.yaml"


def test_files_plans_and_output_contain_no_secrets(
    run: Run, client: ControllerClient, folder: Path, file: Path, unique_table: str, tmp_path: Path
) -> None:
    task = {"inputDirURI": "s3://x", "input.fs.prop.secretKey": "${env:PINOT_SECRET_S3_KEY}"}
    _change(file, task={"taskTypeConfigsMap": {"FileIngestionTask": task}})
    assert "the variable PINOT_SECRET_S3_KEY is not set" in run.error("diff", folder, code=2)
    plan = tmp_path / "plan.json"
    run("diff", folder, "--save", plan, code=_DIFFERENCES, PINOT_SECRET_S3_KEY=_SECRET)
    assert _SECRET not in plan.read_text()
    run("apply", plan, "--yes", PINOT_SECRET_S3_KEY=_SECRET)
    [stored] = client.configs.tables(unique_table).values()
    assert stored["task"]["taskTypeConfigsMap"]["FileIngestionTask"]["input.fs.prop.secretKey"] == _SECRET
    run("diff", folder, PINOT_SECRET_S3_KEY=_SECRET)
    run("diff", folder, "--keep-unset")
    other = run("diff", folder, code=_DIFFERENCES, PINOT_SECRET_S3_KEY="another-secret")
    assert '"***" -> "${env:PINOT_SECRET_S3_KEY}"' in other.output
    assert "another-secret" not in other.output
    exported = tmp_path / "exported"
    [variable] = run.read("export", exported, "--table", unique_table)["variables"]
    assert variable == f"PINOT_SECRET_{unique_table.upper()}_OFFLINE_INPUT_FS_PROP_SECRETKEY"
    assert all(_SECRET not in path.read_text() for path in exported.rglob("*.yaml"))
    given: dict[str, Any] = {variable: _SECRET}
    run("diff", exported, **given)


def test_an_export_keeps_files_that_match_and_a_misspelt_field_is_named(
    run: Run, folder: Path, file: Path, unique_table: str
) -> None:
    run("apply", folder, "--yes")
    text = "# a comment to keep\n" + file.read_text()
    file.write_text(text)
    assert run.read("export", folder, "--table", unique_table)["written"] == []
    assert file.read_text() == text

    _change(file, tableIndexConfig={"noDictionaryColums": ["n"]})
    unknown = "Pinot does not know /tableIndexConfig/noDictionaryColums (did you mean noDictionaryColumns"
    assert unknown in run.error("diff", folder, code=2)


def test_drift_shows_what_others_changed_since_the_apply(
    run: Run, client: ControllerClient, folder: Path, file: Path, unique_table: str
) -> None:
    run("apply", folder, "--yes")
    run("drift", folder)
    _change(file, quota={"storage": "1G"})
    run("drift", folder)  # a file that is not applied yet is not drift
    name = f"{unique_table}_OFFLINE"
    config = client.tables.get(name).to_json()
    client._transport.request("PUT", f"/tables/{name}", json={**config, "query": {"timeoutMs": 17}})
    [row] = run.read("drift", folder, code=_DIFFERENCES)
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
    run: Run, client: ControllerClient, folder: Path, file: Path, unique_table: str, tmp_path: Path
) -> None:
    run("apply", folder, "--yes")
    theirs = tmp_path / "theirs"
    _write(theirs / "cluster.yaml", {"owner": f"other-{unique_table}"})
    run("diff", theirs, "--prune")
    _write(theirs / "tables/x.yaml", {**yaml.safe_load(file.read_text()), "quota": {"storage": "2G"}})
    assert f"it belongs to the owner {unique_table}" in run.error("apply", theirs, "--yes")
    for each in [*folder.glob("tables/*"), *folder.glob("schemas/*")]:
        each.unlink()
    run("diff", folder)
    plan = run("diff", folder, "--prune", code=_DIFFERENCES).stdout.splitlines()
    assert plan[0].startswith(f"- delete tables/{unique_table}_OFFLINE")
    assert plan[1].startswith(f"- delete schemas/{unique_table}")
    run("apply", folder, "--prune", "--yes")
    assert not client.tables.exists(f"{unique_table}_OFFLINE")
    assert unique_table not in client.schemas.list()
    run("diff", folder, "--prune")


def test_tenants_and_tags_follow_the_files(run: Run, client: ControllerClient, tmp_path: Path) -> None:
    host = f"nowhere-{tmp_path.name.replace('_', '-')}"
    names = [client.instances.create("server", host, port, tags=["server_untagged"]) for port in (1, 2)]
    tenant, folder = f"T{host[-12:].replace('-', '')}", tmp_path / "f"

    def offline(*servers: str) -> None:
        members = {"offline_servers": [*servers], "realtime_servers": names[:1]}
        _write(folder / "tenants/x.yaml", {"tenant": tenant, **members})

    def tags() -> list[set[str]]:
        return [set(client.instances.tags(name)) for name in names]

    try:
        _write(folder / "cluster.yaml", {"owner": tenant})
        offline(*names)
        _write(folder / "instances/x.yaml", {"instance": names[1], "tags": ["rack7"]})
        run("diff", folder, code=_DIFFERENCES)
        run("apply", folder, "--yes")
        both = f"{tenant}_OFFLINE"
        assert tags() == [{both, f"{tenant}_REALTIME"}, {both, "rack7"}]
        run("diff", folder)
        client.instances.set_tags(names[1], ["rack8"])
        shown = run("drift", folder, code=_DIFFERENCES).output
        assert "/offline_servers" in shown
        assert "rack8" in shown
        offline(names[0])
        run("apply", folder, "--yes")
        assert tags()[1] == {"server_untagged", "rack7"}
        offline("Server_none_1")
        assert "there is no instance Server_none_1" in run.error("apply", folder, "--yes")
    finally:
        for name in names:
            client.instances.drop(name)


@pytest.mark.kafka
def test_pauses_follow_the_files(
    run: Run, make_stream_table: MakeTable, client: ControllerClient, tmp_path: Path
) -> None:
    table = make_stream_table(partitions=1)
    name = str(table.table)
    [variable] = run.read("export", tmp_path, "--table", table.name, "--owner", table.name)["variables"]
    stream = client.configs.tables(table.name)[table.table]["tableIndexConfig"]["streamConfigs"]
    secrets = {variable: stream["sasl.jaas.config"]}
    file = tmp_path / f"consumption/{name}.yaml"
    assert yaml.safe_load(file.read_text()) == {"table": name, "paused": False}
    run("diff", tmp_path, **secrets)
    _write(file, {"table": name, "paused": True, "reason": "upgrade"})
    plan = run.read("diff", tmp_path, code=_DIFFERENCES, **secrets)
    steps = [(step["action"], step["object"]) for step in plan["steps"]]
    assert steps == [("pause", f"consumption/{name}")]
    run("apply", tmp_path, "--approve", plan["id"], **secrets)
    assert client.consumption.pause_status(name).paused
    run("diff", tmp_path, **secrets)
    _write(file, {"table": name, "paused": False})
    run("apply", tmp_path, "--yes", **secrets)
    assert not client.consumption.pause_status(name).paused
    pause(table.control(), reason="a rewrite", holder="somebody")
    assert "it is paused by" in run.error("apply", tmp_path, "--yes", **secrets)
    assert client.consumption.pause_status(name).paused


def _change(file: Path, **parts: Any) -> None:
    """Change parts of a file."""
    _write(file, {**yaml.safe_load(file.read_text()), **parts})


def _write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
