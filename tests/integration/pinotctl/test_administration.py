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

from controller_client.errors import NotFoundError
from controller_client.helix import TaskQueues
from controller_client.models import Schema, TableConfig
from controller_client.rest.capabilities import Capability
from controller_client.zookeeper import PropertyStore
from tests.integration.pinotctl.conftest import Numbers, Run, built_numbers
from tests.support.cluster import PinotCluster
from tests.support.needs import has
from tests.support.offline_tables import offline_table
from tests.support.pinotctl import pinotctl
from tests.support.scheduling import DISTURBS
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster]


@pytest.fixture
def dead(pinot: PinotCluster) -> Iterator[list[str]]:
    """Two servers and a broker that are registered but never start, without a tenant."""
    host = f"dead-{uuid4().hex[:8]}"
    with pinot.client() as client:
        names = [
            client.instances.create(role, host, port, tags=[f"{role}_untagged"])
            for port, role in enumerate(("server", "server", "broker"), 1)
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


@pytest.fixture
def empty_table(pinot: PinotCluster, unique_table: str) -> str:
    """The name with type of a table without segments."""
    schema = {"schemaName": unique_table, "dimensionFieldSpecs": [{"name": "a", "dataType": "INT"}]}
    with pinot.client() as client:
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(offline_table(unique_table)))
    return f"{unique_table}_OFFLINE"


def test_tags_of_instances(run: Run, dead: list[str], tenant: str) -> None:
    name, tag = dead[0], f"{tenant}_OFFLINE"
    would = run.read("instance", "tag", name, "--add", tag, "--remove", "server_untagged", "--dry-run")
    assert (would["before"], would["tags"], would["changed"]) == (["server_untagged"], [tag], False)
    assert run.read("instance", "tag", name, tag)["changed"]
    assert run.read("instance", "show", name)["tags"] == [tag]
    assert "already" in run("instance", "tag", name, tag).stderr
    run.error("instance", "tag", name, "--remove", tag, code=2)
    assert "did you mean" in run.error("instance", "tag", f"{name}x", tag)


@DISTURBS  # a minion that is disabled drops its tasks
def test_an_instance_is_disabled_and_enabled(run: Run, pinot: PinotCluster) -> None:
    name = pinot.minion_instance
    disable = ("instance", "disable", name)
    assert run.read(*disable, "--dry-run")["enabled"]
    run.error(*disable, stdin="n\n")
    try:
        assert run.read(*disable, "--yes")["changed"]
        assert not run.read("instance", "show", name)["enabled"]
        assert "already" in run(*disable, "--yes").stderr
    finally:
        done = run.read("instance", "enable", name)
    assert done["changed"]
    assert run.read("instance", "show", name)["enabled"]


def test_an_instance_is_dropped_only_if_nothing_uses_it(
    run: Run, dead: list[str], pinot: PinotCluster, empty_table: str
) -> None:
    live, server = pinot.broker_instance, ("instance", "drop", dead[1])
    wait_for(
        lambda: empty_table in run.read("instance", "drop", live, "--dry-run")["broker_of"],
        "the broker to have the table",
    )
    refused = run.error("instance", "drop", live, "--yes")
    assert f"{live} cannot be dropped: it is live" in refused
    assert empty_table in refused
    assert run.read(*server, "--dry-run")["obstacles"] == []
    run.error(*server, stdin="n\n")
    assert run.read(*server, "--yes")["changed"]
    assert "there is" not in run("instance", "show", dead[0]).stderr
    assert "404" in run.error(*server)


def test_tenants_from_named_instances(run: Run, dead: list[str], tenant: str, empty_table: str) -> None:
    first, second, broker = dead
    create = ("tenant", "create", tenant)
    assert run.read(*create, "--instance", first, "--dry-run")["changed"] is False
    assert "404" in run.error(*create, "--instance", "Server_nope_1")
    assert "--count" in run.error(*create, code=2)
    assert "is not a server" in run.error(*create, "--instance", broker)
    done = run.read(*create, "--instance", first)
    assert done["tags"] == {first: [f"{tenant}_OFFLINE", f"{tenant}_REALTIME"]}
    assert "already" in run.error(*create, "--instance", first)
    run(*create, "--role", "broker", "--instance", broker)
    assert run.read("tenant", "extend", tenant, "--instance", second, "--for", "offline")["changed"]
    assert run.read("tenant", "show", tenant) == {
        "tenant": tenant,
        "offline_servers": [first, second],
        "realtime_servers": [first],
        "brokers": [broker],
        "tables": [],
    }
    assert f"did you mean {tenant}?" in run.error("tenant", "show", f"{tenant}x")

    move = ("table", "move", empty_table, "--server")
    assert "no server tenant" in run.error(*move, "nope")
    assert run.read(*move, tenant, "--dry-run")["rebalance_needed"]
    moved = run(*move, tenant)
    assert f"pinotctl table rebalance {empty_table} --reassign-instances" in moved.stderr
    assert run.read("tenant", "show", tenant)["tables"] == [empty_table]
    assert empty_table in run.error("tenant", "delete", tenant, "--yes")
    assert "already" in run(*move, tenant).stderr
    assert run.read(*move, "DefaultTenant")["changed"]

    shrunk = run.read("tenant", "shrink", tenant, "--instance", second, "--yes")
    assert shrunk["tags"] == {second: ["server_untagged"]}
    run.error("tenant", "delete", tenant, stdin="n\n")
    run("tenant", "delete", tenant, "--yes")
    run("tenant", "delete", tenant, "--role", "broker", "--yes")
    assert "there is no tenant" in run.error("tenant", "show", tenant)
    assert run.read("instance", "show", broker)["tags"] == ["broker_untagged"]


@DISTURBS  # Pinot chooses among all free servers
def test_a_tenant_from_free_live_servers(run: Run, tenant: str, pinot: PinotCluster) -> None:
    """Uses a live server that has both its own tag and that of free servers: it keeps its own tables."""
    with pinot.client() as client:
        live = next(
            name
            for name in client.instances.list()
            if name.startswith("Server_127.0.0.2") and "DefaultTenant_OFFLINE" in client.instances.tags(name)
        )
        tags = client.instances.tags(live)
        assert "Expected: at least 9" in run.error("tenant", "create", tenant, "--count", "9")
        client.instances.set_tags(live, [*tags, "server_untagged"])
        try:
            assert run.read("tenant", "create", tenant, "--count", "1")["instances"] == [live]
            assert run.read("tenant", "show", tenant)["offline_servers"] == [live]
            assert set(client.instances.tags(live)) == {*tags, f"{tenant}_OFFLINE", f"{tenant}_REALTIME"}
        finally:
            client.instances.set_tags(live, tags)


def test_task_queues(run: Run, pinot: PinotCluster) -> None:
    task_type = f"Type{uuid4().hex[:8]}"
    debug, stop, delete = (("queue", word, task_type) for word in ("debug", "stop", "delete"))
    assert "no queue" in run.error(*stop)
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        name = TaskQueues(store).submit(
            task_type, [{"a": "b"}], minion_tag="no_minion", timeout_s=600, concurrent_per_instance=1
        )
    (row,) = [each for each in run.read("queue", "list") if each["task_type"] == task_type]
    assert row["tasks"] == 1
    assert name in run(*debug).stdout
    assert name in run.read(*debug)
    run(*debug, name)
    assert "is not stopped" in run.error(*delete, "--yes")
    assert run.read(*stop, "--dry-run")["state"] != "STOPPED"
    assert run.read(*stop)["state"] == "STOPPED"
    assert run.read("queue", "resume", task_type)["state"] == "IN_PROGRESS"
    run(*stop)
    run.error(*delete, stdin="n\n")
    assert run.read(*delete, "--yes")["tasks"] == 1
    wait_for(
        lambda: task_type not in [each["task_type"] for each in run.read("queue", "list")],
        "the queue to be gone",
    )


def test_tasks_are_created_for_only_one_table(run: Run, pinot: PinotCluster, empty_table: str) -> None:
    schedule = ("queue", "schedule", "--table", empty_table)
    assert run.read(*schedule, "--dry-run")["tables"] == {}
    made = run.read(*schedule)
    assert [name for names in made["tasks"].values() for name in names] == []
    assert made["changed"] is False
    with pinot.client() as client:
        client.tables.set_task_config(empty_table, "SomeTask", {"key": "value"})
    for words in (("--dry-run",), ("--type", "SomeTask", "--dry-run")):
        would = run.read(*schedule, *words)
        assert (would["tables"], would["changed"]) == ({"SomeTask": [empty_table]}, False)
    assert run.read(*schedule, "--type", "AnotherTask", "--dry-run")["tables"] == {}


@pytest.mark.jvm
def test_running_queries(run: Run, numbers: Numbers, pinot: PinotCluster, tmp_path: Path) -> None:
    if not has(Capability.PAUSE_TOPICS):  # Pinot 1.5 changed the default
        assert "pinot.broker.enable.query.cancellation" in run.error("queries", "list")
        return
    assert isinstance(run.read("queries", "list"), list)
    assert "no broker runs" in run.error("queries", "cancel", "123456789")
    run("schema", "create", numbers.schema_file)
    run("table", "create", numbers.table_file)
    run("segment", "upload", numbers.name, *built_numbers(tmp_path, 240_000))
    # Java's regular expressions backtrack on each row, which takes long enough to cancel the query.
    text = f"concat('{'a' * 10}', cast(id as varchar), '')"
    slow = f"select max(length(regexp_replace({text}, '(a+)+\\1b', ''))) from {numbers.name}"

    def running() -> list[dict[str, str]]:
        return [each for each in run.read("queries", "list") if numbers.name in each["sql"]]

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
        cancel = ("queries", "cancel", query["query"])
        assert run.read(*cancel, "--dry-run")["sql"] == run.read(*cancel)["sql"] == query["sql"]
        wait_for(lambda: not running(), "the query to end")
        asking.communicate(timeout=120)
        assert asking.returncode == 1, "the query was not cancelled, but ended by itself"
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
    rights = ("--new-password-file", file, "--table", "a", "--permission", "read")
    create, update = ("user", "create", name, *place), ("user", "update", name, *place)
    outputs: list[str] = []

    def read(*words: object) -> Any:
        result = run(*words, "--output", "json")
        outputs.append(result.output)
        return json.loads(result.stdout)

    monkeypatch.delenv("PINOT_NEW_PASSWORD", raising=False)
    assert "has no password" in run.error(*create, code=2)
    assert read(*create, *rights, "--dry-run")["dry_run"]
    assert name not in _users(run)
    try:
        assert read(*create, *rights) == {
            "user": name,
            "component": "broker",
            "role": "user",
            "tables": ["a"],
            "exclude_tables": [],
            "permissions": ["read"],
            "changed": True,
            "dry_run": False,
        }
        assert "does not use these users" in outputs[-1]
        before = _hash(pinot, name)
        assert before.startswith("$2")
        outputs += [run("user", "list").output, run.error(*create, *rights)]
        assert "already" in outputs[-1]
        assert read(*update, "--role", "admin", "--all-tables")["changes"] == ["role", "tables"]
        assert _hash(pinot, name) == before, "the password changed without a new one"
        monkeypatch.setenv("PINOT_NEW_PASSWORD", f"{password}2")
        assert read(*update)["changes"] == ["password"]
        after = _hash(pinot, name)
        assert after.startswith("$2")
        assert after != before
        (found,) = [each for each in read("user", "list") if each["user"] == name]
        assert (found["role"], found["tables"], found["permissions"]) == ("admin", [], ["read"])
        elsewhere = ("user", "delete", name, "--component", "server", "--yes")
        assert "there is no user" in run.error(*elsewhere)
    finally:
        outputs.append(run("user", "delete", name, *place, "--yes").output)
    assert name not in _users(run)
    assert not [text for text in outputs if password in text or before in text]


def _users(run: Run) -> list[str]:
    return [each["user"] for each in run.read("user", "list")]


def _hash(pinot: PinotCluster, name: str) -> str:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        found = store.get(f"/CONFIGS/USER/{name}_BROKER")
    if found is None:
        raise NotFoundError(name)
    return str(found.record.simple_fields["password"])
