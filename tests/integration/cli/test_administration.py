"""pinotctl commands for instances, tenants, task queues, running queries and users.

Instances and tenants consist of servers that never start, so they get no tables of other tests.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result

from controller_client.errors import NotFoundError
from controller_client.helix import TaskQueues
from controller_client.models import Schema, TableConfig
from controller_client.rest.capabilities import Capability
from controller_client.zookeeper import PropertyStore
from tests.integration.cli.conftest import Numbers, Run
from tests.support.cluster import PinotCluster
from tests.support.needs import has
from tests.support.offline_tables import offline_table
from tests.support.pinotctl import pinotctl
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

JSON = ("--output", "json")


def rows(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.fixture
def dead(pinot: PinotCluster) -> Iterator[list[str]]:
    """Two servers and a broker that are registered but never start, without a tenant."""
    host = f"dead-{uuid4().hex[:8]}"
    with pinot.client() as client:
        names = [
            client.instances.create("server", host, 1, tags=["server_untagged"]),
            client.instances.create("server", host, 2, tags=["server_untagged"]),
            client.instances.create("broker", host, 3, tags=["broker_untagged"]),
        ]
        try:
            yield names
        finally:
            for name in names:
                if name in client.instances.list():
                    client.instances.drop(name)


@pytest.fixture
def tenant() -> str:
    return f"tenant{uuid4().hex[:8]}"


def test_tags_and_states_of_instances(run: Run, dead: list[str], tenant: str) -> None:
    name = dead[0]
    tag = f"{tenant}_OFFLINE"
    would = rows(
        run("instance", "tag", name, "--add", tag, "--remove", "server_untagged", "--dry-run", *JSON)
    )
    assert (would["before"], would["tags"], would["changed"]) == (["server_untagged"], [tag], False)
    assert rows(run("instance", "tag", name, tag, *JSON))["changed"]
    assert rows(run("instance", "show", name, *JSON))["tags"] == [tag]
    assert "already" in run("instance", "tag", name, tag).stderr
    run("instance", "tag", name, "--remove", tag, code=2)
    assert "did you mean" in run("instance", "tag", f"{name}x", tag, code=1).stderr

    run("instance", "tag", name, "server_untagged")


def test_an_instance_is_disabled_and_enabled(run: Run, pinot: PinotCluster) -> None:
    """Uses the minion, which has no segments and no running task."""
    name = pinot.minion_instance
    assert rows(run("instance", "disable", name, "--dry-run", *JSON))["enabled"]
    run("instance", "disable", name, code=1, stdin="n\n")
    try:
        assert rows(run("instance", "disable", name, "--yes", *JSON))["changed"]
        assert not rows(run("instance", "show", name, *JSON))["enabled"]
        assert "already" in run("instance", "disable", name, "--yes").stderr
    finally:
        done = rows(run("instance", "enable", name, *JSON))
    assert done["changed"]
    assert rows(run("instance", "show", name, *JSON))["enabled"]


def test_an_instance_is_dropped_only_if_nothing_uses_it(
    run: Run, dead: list[str], pinot: PinotCluster, unique_table: str
) -> None:
    with pinot.client() as client:
        schema = {"schemaName": unique_table, "dimensionFieldSpecs": [{"name": "a", "dataType": "INT"}]}
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(offline_table(unique_table)))
    live = pinot.broker_instance
    wait_for(
        lambda: (
            f"{unique_table}_OFFLINE" in rows(run("instance", "drop", live, "--dry-run", *JSON))["broker_of"]
        ),
        "the broker to have the table",
    )
    refused = run("instance", "drop", live, "--yes", code=1)
    assert f"{live} cannot be dropped: it is live" in refused.stderr
    assert f"{unique_table}_OFFLINE" in refused.stderr
    assert rows(run("instance", "drop", dead[1], "--dry-run", *JSON))["obstacles"] == []
    run("instance", "drop", dead[1], code=1, stdin="n\n")
    assert rows(run("instance", "drop", dead[1], "--yes", *JSON))["changed"]
    assert "there is" not in run("instance", "show", dead[0]).stderr
    assert "404" in run("instance", "drop", dead[1], code=1).stderr


def test_tenants_from_named_instances(
    run: Run, dead: list[str], tenant: str, pinot: PinotCluster, unique_table: str
) -> None:
    first, second, broker = dead
    create = ("tenant", "create", tenant, "--instance", first)
    assert rows(run(*create, "--dry-run", *JSON))["changed"] is False
    assert "404" in run("tenant", "create", tenant, "--instance", "Server_nope_1", code=1).stderr
    assert "--count" in run("tenant", "create", tenant, code=2).stderr
    assert "is not a server" in run("tenant", "create", tenant, "--instance", broker, code=1).stderr
    done = rows(run(*create, *JSON))
    assert done["tags"] == {first: [f"{tenant}_OFFLINE", f"{tenant}_REALTIME"]}
    assert "already" in run(*create, code=1).stderr
    run("tenant", "create", tenant, "--role", "broker", "--instance", broker)
    assert rows(run("tenant", "extend", tenant, "--instance", second, "--for", "offline", *JSON))["changed"]
    assert rows(run("tenant", "show", tenant, *JSON)) == {
        "tenant": tenant,
        "offline_servers": [first, second],
        "realtime_servers": [first],
        "brokers": [broker],
        "tables": [],
    }
    assert f"did you mean {tenant}?" in run("tenant", "show", f"{tenant}x", code=1).stderr

    table = f"{unique_table}_OFFLINE"
    with pinot.client() as client:
        schema = {"schemaName": unique_table, "dimensionFieldSpecs": [{"name": "a", "dataType": "INT"}]}
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(offline_table(unique_table)))
    assert "no server tenant" in run("table", "move", unique_table, "--server", "nope", code=1).stderr
    move = ("table", "move", unique_table, "--server", tenant)
    assert rows(run(*move, "--dry-run", *JSON))["rebalance_needed"]
    moved = run(*move, *JSON)
    assert rows(moved)["changed"]
    assert f"pinotctl table rebalance {table} --reassign-instances" in moved.stderr
    assert rows(run("tenant", "show", tenant, *JSON))["tables"] == [table]
    assert table in run("tenant", "delete", tenant, "--yes", code=1).stderr
    assert "already" in run(*move).stderr
    run("table", "move", unique_table, "--server", "DefaultTenant")

    assert rows(run("tenant", "shrink", tenant, "--instance", second, "--yes", *JSON))["tags"] == {
        second: ["server_untagged"]
    }
    run("tenant", "delete", tenant, code=1, stdin="n\n")
    run("tenant", "delete", tenant, "--yes")
    run("tenant", "delete", tenant, "--role", "broker", "--yes")
    assert "there is no tenant" in run("tenant", "show", tenant, code=1).stderr
    assert rows(run("instance", "show", broker, *JSON))["tags"] == ["broker_untagged"]


def test_a_tenant_from_free_live_servers(run: Run, tenant: str, pinot: PinotCluster) -> None:
    """Uses a live server that has both its own tag and that of free servers: it keeps its own tables."""
    with pinot.client() as client:
        live = next(
            name
            for name in client.instances.list()
            if name.startswith("Server_127.0.0.2") and "DefaultTenant_OFFLINE" in client.instances.tags(name)
        )
        tags = client.instances.tags(live)
        few = run("tenant", "create", tenant, "--count", "9", code=1)
        assert "Expected: at least 9" in few.stderr
        client.instances.set_tags(live, [*tags, "server_untagged"])
        try:
            assert rows(run("tenant", "create", tenant, "--count", "1", *JSON))["instances"] == [live]
            assert rows(run("tenant", "show", tenant, *JSON))["offline_servers"] == [live]
            assert set(client.instances.tags(live)) == {*tags, f"{tenant}_OFFLINE", f"{tenant}_REALTIME"}
        finally:
            client.instances.set_tags(live, tags)


def test_task_queues(run: Run, pinot: PinotCluster) -> None:
    task_type = f"Type{uuid4().hex[:8]}"
    assert "no queue" in run("queue", "stop", task_type, code=1).stderr
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        name = TaskQueues(store).submit(
            task_type, [{"a": "b"}], minion_tag="no_minion", timeout_s=600, concurrent_per_instance=1
        )
    (row,) = [each for each in rows(run("queue", "list", *JSON)) if each["task_type"] == task_type]
    assert row["tasks"] == 1
    assert name in run("queue", "debug", task_type).stdout
    assert name in rows(run("queue", "debug", task_type, *JSON))
    run("queue", "debug", task_type, name)
    assert "is not stopped" in run("queue", "delete", task_type, "--yes", code=1).stderr
    assert rows(run("queue", "stop", task_type, "--dry-run", *JSON))["state"] != "STOPPED"
    assert rows(run("queue", "stop", task_type, *JSON))["state"] == "STOPPED"
    assert rows(run("queue", "resume", task_type, *JSON))["state"] == "IN_PROGRESS"
    run("queue", "stop", task_type)
    run("queue", "delete", task_type, code=1, stdin="n\n")
    assert rows(run("queue", "delete", task_type, "--yes", *JSON))["tasks"] == 1
    wait_for(
        lambda: task_type not in [each["task_type"] for each in rows(run("queue", "list", *JSON))],
        "the queue to be gone",
    )


def test_tasks_are_created_for_only_one_table(run: Run, pinot: PinotCluster, unique_table: str) -> None:
    with pinot.client() as client:
        schema = {"schemaName": unique_table, "dimensionFieldSpecs": [{"name": "a", "dataType": "INT"}]}
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(offline_table(unique_table)))
    schedule = ("queue", "schedule", "--table", unique_table, *JSON)
    assert rows(run(*schedule, "--dry-run"))["tables"] == {}
    made = rows(run(*schedule))
    assert [name for names in made["tasks"].values() for name in names] == []
    assert made["changed"] is False
    with pinot.client() as client:
        table = f"{unique_table}_OFFLINE"
        client.tables.set_task_config(table, "SomeTask", {"key": "value"})
    for words in (("--dry-run",), ("--type", "SomeTask", "--dry-run")):
        would = rows(run(*schedule, *words))
        assert (would["tables"], would["changed"]) == ({"SomeTask": [table]}, False)
    assert rows(run(*schedule, "--type", "AnotherTask", "--dry-run"))["tables"] == {}


def test_running_queries(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    if not has(Capability.PAUSE_TOPICS):  # Pinot 1.5 changed the default
        refused = run("queries", "list", code=1)
        assert "pinot.broker.enable.query.cancellation" in refused.stderr
        return
    assert isinstance(rows(run("queries", "list", *JSON)), list)
    assert "no broker runs" in run("queries", "cancel", "123456789", code=1).stderr
    run("schema", "create", numbers.schema_file)
    run("table", "create", numbers.table_file)
    run("segment", "upload", numbers.name, numbers.many)
    # Java's regular expressions backtrack on each row, which takes some seconds.
    text = f"concat('{'a' * 10}', cast(id as varchar), '')"
    slow = f"select max(length(regexp_replace({text}, '(a+)+\\1b', ''))) from {numbers.name}"

    def running() -> list[dict[str, str]]:
        return [each for each in rows(run("queries", "list", *JSON)) if numbers.name in each["sql"]]

    @contextmanager
    def asked() -> Iterator[subprocess.Popen[str]]:
        wait_for(lambda: not running(), "no query to run")
        command = pinotctl("--broker", pinot.broker_url, "query", slow)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
            # The query is listed shortly before it reaches its servers; until then they cannot end it.
            wait_for(running, "the query to run", 60, times=10)
            yield asking

    with asked() as asking:
        (query,) = running()
        assert query["broker"] == pinot.broker_url
        assert rows(run("queries", "cancel", query["query"], "--dry-run", *JSON))["sql"] == query["sql"]
        assert rows(run("queries", "cancel", query["query"], *JSON))["sql"] == query["sql"]
        assert running() == []
        asking.communicate(timeout=120)
    with asked() as asking:
        asking.send_signal(signal.SIGINT)
        _, messages = asking.communicate(timeout=120)
        assert "Asked the servers to end the query." in messages
        assert asking.returncode == 130


def test_users(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinot: PinotCluster) -> None:
    name, password = f"user{uuid4().hex[:8]}", f"password-{uuid4().hex}"
    file = tmp_path / "password"
    file.write_text(f"{password}\n")
    place = ("--component", "broker")
    monkeypatch.delenv("PINOT_NEW_PASSWORD", raising=False)
    assert "has no password" in run("user", "create", name, *place, code=2).stderr
    create = (
        "user",
        "create",
        name,
        *place,
        "--new-password-file",
        file,
        "--table",
        "a",
        "--permission",
        "read",
    )
    shown = [run(*create, "--dry-run", *JSON)]
    assert name not in [each["user"] for each in rows(run("user", "list", *JSON))]
    try:
        shown.append(run(*create, *JSON))
        assert rows(shown[-1]) == {
            "user": name,
            "component": "broker",
            "role": "user",
            "tables": ["a"],
            "exclude_tables": [],
            "permissions": ["read"],
            "changed": True,
            "dry_run": False,
        }
        assert "does not use these users" in shown[-1].stderr
        before = _hash(pinot, name)
        assert before.startswith("$2")
        shown += [run("user", "list", *JSON), run("user", "list"), run(*create, code=1)]
        assert "already" in shown[-1].stderr
        shown.append(run("user", "update", name, *place, "--role", "admin", "--all-tables", *JSON))
        assert rows(shown[-1])["changes"] == ["role", "tables"]
        assert _hash(pinot, name) == before, "the password changed without a new one"
        monkeypatch.setenv("PINOT_NEW_PASSWORD", f"{password}2")
        shown.append(run("user", "update", name, *place, *JSON))
        assert rows(shown[-1])["changes"] == ["password"]
        after = _hash(pinot, name)
        assert after.startswith("$2")
        assert after != before
        (found,) = [each for each in rows(run("user", "list", *JSON)) if each["user"] == name]
        assert (found["role"], found["tables"], found["permissions"]) == ("admin", [], ["read"])
        assert (
            "there is no user" in run("user", "delete", name, "--component", "server", "--yes", code=1).stderr
        )
    finally:
        shown.append(run("user", "delete", name, *place, "--yes"))
    assert name not in [each["user"] for each in rows(run("user", "list", *JSON))]
    for result in shown:
        assert password not in result.output
        assert before not in result.output


def _hash(pinot: PinotCluster, name: str) -> str:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        found = store.get(f"/CONFIGS/USER/{name}_BROKER")
    if found is None:
        raise NotFoundError(name)
    return str(found.record.simple_fields["password"])
