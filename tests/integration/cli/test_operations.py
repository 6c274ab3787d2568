"""Operations on tables by pinotctl; the tests run in order, on one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from controller_client.rest.capabilities import Capability
from tests.integration.cli.conftest import Numbers, Run
from tests.integration.cli.other_controller import other_controller
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, has
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

JSON = ("--output", "json")


def rows(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def filled(run: Run, numbers: Numbers) -> Numbers:
    """The table with both segments, with one replica each."""
    run("schema", "create", numbers.schema_file)
    run("table", "create", numbers.table_file)
    run("segment", "upload", numbers.name, *numbers.tars)
    return numbers


def servers_of(run: Run, table: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in rows(run("table", "state", table, *JSON)):
        assert row["ideal_state"] == row["external_view"], row
        found.setdefault(row["segment"], set()).add(row["instance"])
    return found


def test_a_config_is_validated_before_it_is_used(run: Run, numbers: Numbers, tmp_path: Path) -> None:
    command = ("table", "validate", numbers.table_file)
    assert "has no schema" in run(*command, code=1).stderr
    # Newer versions find a table's schema only by its name.
    known_before = [] if has(Need.NAMED_SCHEMAS) else ["segmentsConfig.schemaName"]
    with_schema = (*command, "--schema", numbers.schema_file)
    assert rows(run(*with_schema, *JSON)) == {
        "table": f"{numbers.name}_OFFLINE",
        "valid": True,
        "exists": False,
        "unknown_parts": known_before,
    }
    document = json.loads(numbers.table_file.read_text())
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps({**document, "tableIndexConfig": {"invertedColumns": ["id"]}}))
    found = run("table", "validate", odd, "--schema", numbers.schema_file, *JSON)
    assert rows(found)["unknown_parts"] == [*known_before, "tableIndexConfig.invertedColumns"]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({**document, "tableIndexConfig": {"invertedIndexColumns": ["x"]}}))
    refused = run("table", "validate", wrong, "--schema", numbers.schema_file, code=1)
    assert "the column x" in refused.stderr


def test_reload(run: Run, filled: Numbers) -> None:
    table = f"{filled.name}_OFFLINE"
    would = rows(run("table", "reload", filled.name, "--dry-run", *JSON))
    assert (would["segments"], would["jobs"], would["changed"]) == (filled.segments, {}, False)
    done = run("table", "reload", filled.name, *JSON)
    assert rows(done)["reloaded"]
    assert rows(done)["replicas"] == 2
    assert f"Reloading {table}: 2/2 replicas" in done.stderr
    job = rows(done)["jobs"][table]
    status = rows(run("table", "reload-status", job, *JSON))
    assert (status["table"], status["segment"]) == (table, None)
    assert (status["replicas"], status["reloaded"], status["servers_failed"]) == (2, 2, 0)
    run("table", "reload-status", "no-such-job", code=1)


def test_reload_of_one_segment(run: Run, filled: Numbers) -> None:
    segment = filled.segments[1]
    done = rows(run("table", "reload", filled.name, segment, "--no-wait", *JSON))
    assert not done["reloaded"]

    def loaded() -> bool:
        status = rows(run("table", "reload-status", done["jobs"][segment], *JSON))
        assert (status["segment"], status["replicas"]) == (segment, 1)
        return bool(status["reloaded"] == 1)

    wait_for(loaded, f"{segment} to be reloaded")
    again = rows(run("table", "reload", filled.name, segment, "--download", *JSON))
    assert (again["reloaded"], again["replicas"]) == (True, 1)
    assert "has no segment nope" in run("table", "reload", filled.name, "nope", code=1).stderr


def test_size(run: Run, filled: Numbers) -> None:
    found = rows(run("table", "size", filled.name, *JSON))
    assert found["missing_segments"] == found["silent_servers"] == []
    assert found["reported_bytes"] == found["estimated_bytes"] > 0
    assert {row["segment"] for row in found["segments"]} == set(filled.segments)
    total = sum(row["size_bytes"] for row in found["segments"])
    assert total == found["reported_bytes"] == sum(row["size_bytes"] for row in found["servers"])
    assert filled.segments[0] in run("table", "size", filled.name, "--by-segment").stdout


def test_reset(run: Run, filled: Numbers) -> None:
    segment = filled.segments[0]
    assert "would be reset" in run("segment", "reset", filled.name, segment, "--dry-run").stderr
    done = rows(run("segment", "reset", filled.name, segment, *JSON))
    assert done["online"]
    assert "no segment in ERROR" in run("segment", "reset", filled.name, "--errors").stderr
    assert len(servers_of(run, filled.name)) == 2


def test_rebalance_shows_its_plan_asks_and_moves_segments(run: Run, filled: Numbers) -> None:
    table = f"{filled.name}_OFFLINE"
    before = servers_of(run, filled.name)
    assert "nothing moves" in run("table", "rebalance", filled.name).stderr
    config = rows(run("table", "show", filled.name, *JSON))
    config["segmentsConfig"]["replication"] = "2"
    run("table", "update", "-", stdin=json.dumps(config))
    plan = rows(run("table", "rebalance", filled.name, "--dry-run", *JSON))
    assert (plan["replicas_before"], plan["replicas_after"], plan["replicas_to_add"]) == (1, 2, 2)
    assert plan["bytes_to_add"] == rows(run("table", "size", filled.name, *JSON))["reported_bytes"]
    for move in plan["moves"]:
        assert not move["removed"]
        assert not before[move["segment"]] & set(move["added"])
    assert sum(server["added"] for server in plan["servers"]) == 2
    refused = run("table", "rebalance", filled.name, code=1, stdin="n\n")
    assert "2 of 2 segments to move: 2 replicas to fetch" in refused.stderr
    assert servers_of(run, filled.name) == before, "moved without a yes"

    done = run("table", "rebalance", filled.name, "--yes", *JSON)
    assert rows(done)["finished"]
    assert f"Rebalancing {table}: 2/2 segments" in done.stderr
    assert {len(servers) for servers in servers_of(run, filled.name).values()} == {2}
    again = rows(run("table", "rebalance", filled.name, "--yes", *JSON))
    assert (again["moves"], again["changed"], again["finished"]) == ([], False, True)
    job = rows(done)["job"]
    if has(Capability.REBALANCE_STATUS):
        wait_for(lambda: _status(run, job) == "DONE", "the job to be done")
    else:
        assert job is None
        lacking = run("table", "rebalance-status", "x", code=1)
        assert "Pinot 1.0.0 or later" in lacking.stderr


def _status(run: Run, job: str) -> str:
    found = rows(run("table", "rebalance-status", job, *JSON))
    assert found["job"] == job
    return str(found["status"])


def test_rebalance_back_at_once(run: Run, filled: Numbers) -> None:
    config = rows(run("table", "show", filled.name, *JSON))
    config["segmentsConfig"]["replication"] = "1"
    run("table", "update", "-", stdin=json.dumps(config))
    done = rows(run("table", "rebalance", filled.name, "--downtime", "--yes", "--timeout", "30", *JSON))
    assert (done["replicas_to_remove"], done["replicas_to_add"], done["finished"]) == (2, 0, True)
    assert {len(servers) for servers in servers_of(run, filled.name).values()} == {1}


def test_cancel_of_a_rebalance(run: Run, filled: Numbers) -> None:
    command = ("table", "rebalance-cancel", filled.name)
    if has(Capability.REBALANCE_CANCEL):
        assert rows(run(*command, *JSON)) == {
            "table": f"{filled.name}_OFFLINE",
            "jobs": [],
            "changed": False,
            "dry_run": False,
        }
    else:
        assert "Pinot 1.1.0 or later" in run(*command, code=1).stderr


def test_disable_and_enable(run: Run, filled: Numbers, pinot: PinotCluster) -> None:
    assert rows(run("table", "disable", filled.name, "--dry-run", *JSON))["enabled"]
    run("table", "disable", filled.name, code=1, stdin="n\n")
    assert "already enabled" in run("table", "enable", filled.name).stderr
    assert rows(run("table", "disable", filled.name, "--yes", *JSON))["changed"]
    assert "already disabled" in run("table", "disable", filled.name, "--yes").stderr
    wait_for(lambda: _states(run, filled.name) == {"OFFLINE"}, "the servers to unload all segments")
    assert rows(run("table", "enable", filled.name, *JSON))["changed"]
    run("segment", "wait", filled.name)
    _wait_six_rows(pinot, filled)


def _wait_six_rows(pinot: PinotCluster, table: Numbers) -> None:
    with pinot.broker() as broker:  # until it knows the servers again, it returns an error, or no rows
        wait_for(lambda: broker.query(f"select count(*) from {table.name}").rows == ((6,),), "all rows")


def _states(run: Run, table: str) -> set[str]:
    return {row["external_view"] for row in rows(run("table", "state", table, *JSON))}


def test_brokers_are_rebuilt(run: Run, filled: Numbers, pinot: PinotCluster) -> None:
    command = ("table", "rebuild-brokers", filled.name, "--routing", *JSON)
    with pinot.client() as client:
        urls = sorted(client.cluster.broker_urls(filled.name))  # other tests may have started more
    brokers = rows(run(*command, "--dry-run"))["brokers"]
    assert pinot.broker_instance in brokers
    assert len(brokers) == len(urls)
    assert sorted(rows(run(*command))["routing"]) == urls
    _wait_six_rows(pinot, filled)


def test_a_batch_table_does_not_consume(run: Run, filled: Numbers) -> None:
    assert "does not consume a stream" in run("table", "consuming", filled.name, code=2).stderr


def test_copy_to_another_cluster(run: Run, filled: Numbers, pinot: PinotCluster, tmp_path: Path) -> None:
    table = f"{filled.name}_OFFLINE"
    copy = ("table", "copy", filled.name)
    refused = run(*copy, "--to-controller", pinot.controller_url, code=1)
    assert f"the table {table} already exists" in refused.stderr
    with other_controller(pinot, f"Other{filled.name}", tmp_path) as url:
        there = ("--controller", url)
        # Servers for the tenant that the table needs.
        for role, port in (("SERVER", 1), ("BROKER", 2)):
            _register(url, role, port)
        would = rows(run(*copy, "--to-controller", url, "--dry-run", *JSON))
        assert (would["creates_schema"], would["to_controller"]) == (True, url)
        assert rows(run(*there, "table", "list", *JSON)) == rows(run(*there, "schema", "list", *JSON)) == []
        profile = tmp_path / "pinotctl.toml"
        profile.write_text(f'[other]\ncontroller = "{url}"\n')
        run(*copy, "--to-profile", "other", code=2)  # not in the file yet
        done = rows(run(*copy, "--to-controller", url, *JSON))
        assert done["changed"]
        for command in (("schema", "show", filled.name), ("table", "show", filled.name)):
            assert rows(run(*there, *command, *JSON)) == rows(run(*command, *JSON))
        assert "already" in run(*copy, "--to-controller", url, code=1).stderr
        run(*there, "table", "delete", filled.name, "--yes")
        kept = rows(run(*copy, "--to-controller", url, "--dry-run", *JSON))
        assert kept["creates_schema"] is False
        document = rows(run("schema", "show", filled.name, *JSON))
        document["metricFieldSpecs"].append({"name": "more", "dataType": "LONG"})
        run(*there, "schema", "update", "-", stdin=json.dumps(document))
        assert "a different schema" in run(*copy, "--to-controller", url, code=1).stderr


def _register(url: str, role: str, port: int) -> None:
    from controller_client import ControllerClient, ControllerConfig

    with ControllerClient(ControllerConfig(url)) as client:
        tags = ["DefaultTenant_OFFLINE"] if role == "SERVER" else ["DefaultTenant_BROKER"]
        client.instances.create(role.lower(), "127.0.0.99", port, tags=tags)
