"""A table from its creation to its deletion, only by pinotctl; the tests run in order, on one table."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import PartialResultError
from controller_client.rest.capabilities import Capability
from tests.integration.pinotctl.conftest import SEGMENTS, Numbers, Run
from tests.integration.pinotctl.other_controller import other_controller
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, has
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]


def listed(run: Run, *words: object) -> list[str]:
    """Return the first column of what a command lists."""
    return [next(iter(row.values())) for row in run.read(*words)]


def servers_of(run: Run, table: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in run.read("table", "state", table):
        assert row["ideal_state"] == row["external_view"], row
        found.setdefault(row["segment"], set()).add(row["instance"])
    return found


def set_replication(run: Run, table: str, replicas: int) -> None:
    config = run.read("table", "show", table)
    config["segmentsConfig"]["replication"] = str(replicas)
    run("table", "update", "-", stdin=json.dumps(config))


def wait_six_rows(pinot: PinotCluster, table: Numbers) -> None:
    with pinot.broker() as broker:  # until it knows the servers again, it returns an error, or no rows
        wait_for(lambda: broker.query(f"select count(*) from {table.name}").rows == ((6,),), "all rows")


def test_info(run: Run, pinot: PinotCluster) -> None:
    found = run.read("info")
    assert found["cluster_name"] == pinot.cluster_name
    assert found["version"][0].isdigit()
    assert found["capabilities"]["list_lineage"] is True
    assert found["brokers"]
    features = found["features"]
    assert features["ingestion_append"]["works"] == features["table_pause"]["works"] == "yes"
    assert features["ingestion_schedule"]["how"].startswith(
        "as cronSchedule" if has(Capability.SCHEDULE_CHECKED) else "as schedule"
    )
    assert " live servers are hosted in Python" in features["partition_pause"]["how"]
    shown = run("info").stdout
    assert "ingestion_append     yes" in shown
    assert "list_lineage" in shown


def test_a_config_is_validated_before_it_is_used(run: Run, numbers: Numbers, tmp_path: Path) -> None:
    assert "has no schema" in run.error("table", "validate", numbers.table_file)
    # Newer versions find a table's schema only by its name.
    known_before = [] if has(Need.NAMED_SCHEMAS) else ["segmentsConfig.schemaName"]
    with_schema = ("--schema", numbers.schema_file)
    valid = {"table": numbers.table, "valid": True, "exists": False, "unknown_parts": known_before}
    assert run.read("table", "validate", numbers.table_file, *with_schema) == valid
    document = json.loads(numbers.table_file.read_text())
    odd, wrong = tmp_path / "odd.json", tmp_path / "wrong.json"
    odd.write_text(json.dumps({**document, "tableIndexConfig": {"invertedColumns": ["id"]}}))
    found = run.read("table", "validate", odd, *with_schema)
    assert found["unknown_parts"] == [*known_before, "tableIndexConfig.invertedColumns"]
    wrong.write_text(json.dumps({**document, "tableIndexConfig": {"invertedIndexColumns": ["x"]}}))
    assert "the column x" in run.error("table", "validate", wrong, *with_schema)


def test_a_schema(run: Run, numbers: Numbers) -> None:
    would = run.read("schema", "create", numbers.schema_file, "--dry-run")
    assert would == {"schema": numbers.name, "fields": 2, "changed": False, "dry_run": True}
    assert numbers.name not in listed(run, "schema", "list")
    run("schema", "create", numbers.schema_file)
    assert numbers.name in listed(run, "schema", "list")
    assert "409" in run.error("schema", "create", numbers.schema_file)
    run("schema", "create", numbers.schema_file, "--override")

    shown = run("schema", "show", numbers.name).stdout.splitlines()
    assert [line.split()[:3] for line in shown[1:]] == [
        ["id", "INT", "dimension"],
        ["amount", "DOUBLE", "metric"],
    ]
    document = run.read("schema", "show", numbers.name)
    document["dimensionFieldSpecs"].append({"name": "label", "dataType": "STRING"})
    would = run("schema", "update", "-", "--dry-run", stdin=json.dumps(document))
    assert "new fields ['label']" in would.stderr
    assert "label" not in run("schema", "show", numbers.name).stdout
    run("schema", "update", "-", stdin=json.dumps(document))
    assert "label" in run("schema", "show", numbers.name).stdout


def test_a_table_config(run: Run, numbers: Numbers) -> None:
    create = ("table", "create", numbers.table_file)
    assert "there is no table" in run.error("table", "show", numbers.name)
    run(*create, "--dry-run")
    assert numbers.table not in listed(run, "table", "list")
    made = {"table": numbers.table, "schema": numbers.name, "changed": True, "dry_run": False}
    assert run.read(*create) == made
    assert numbers.table in listed(run, "table", "list", "--type", "offline")
    assert numbers.table not in listed(run, "table", "list", "--type", "realtime")
    assert f"the table {numbers.table} already exists" in run.error(*create)
    for words in (("table", "show"), ("segment", "list"), ("task", "run")):
        assert f"did you mean {numbers.name}" in run.error(*words, f"{numbers.name}x")

    update = ("table", "update", "-")
    document = run.read("table", "show", numbers.name)
    wrong = {**document, "tableIndexConfig": {"invertedIndexColumns": ["x"]}}
    refused = run.error(*update, stdin=json.dumps(wrong))
    assert "names the column x, which is not in the table's schema" in refused
    custom = {"customConfigs": {"owner": "me"}}
    changed = json.dumps({**document, "metadata": custom})
    assert "changed parts: metadata" in run(*update, "--dry-run", stdin=changed).stderr
    done = run.read(*update, stdin=changed)
    assert (done["different_parts"], done["changed"]) == (["metadata"], True)
    assert run.read("table", "show", numbers.table)["metadata"] == custom


def test_segments(run: Run, numbers: Numbers, tars: list[Path], tmp_path: Path) -> None:
    upload = ("segment", "upload", numbers.name)
    wrong = tmp_path / "x.tar.gz"
    wrong.write_text("hello")
    refused = run.error(*upload, wrong)
    assert "not a usable tar.gz of a segment" in refused
    assert str(wrong) in refused

    assert run(*upload, *tars, "--dry-run").stderr.count("Would add the segment") == 2
    assert run.read("segment", "list", numbers.name) == []
    run(*upload, *tars)
    assert listed(run, "segment", "list", numbers.name) == SEGMENTS
    waited = run.read("segment", "wait", numbers.name, "--timeout", "60")
    assert waited["segments"] == SEGMENTS
    assert "Would replace" in run(*upload, tars[0], "--dry-run").stderr

    metadata = run.read("segment", "show", numbers.name, SEGMENTS[0])
    assert metadata["segment.total.docs"] == 3
    assert "404" in run.error("segment", "show", numbers.name, "nope")
    state = run.read("table", "state", numbers.name)
    assert [row["segment"] for row in state] == SEGMENTS
    assert {(row["ideal_state"], row["external_view"]) for row in state} == {("ONLINE", "ONLINE")}
    assert run.read("table", "state", numbers.name, "--differences") == []


def test_a_segment_whose_name_no_address_can_contain(
    run: Run, numbers: Numbers, tars: list[Path], tmp_path: Path, pinot: PinotCluster
) -> None:
    odd = tmp_path / "odd.tar.gz"
    with tarfile.open(tars[0]) as source, tarfile.open(odd, "w:gz") as target:
        for member in source:
            raw = source.extractfile(member).read() if member.isfile() else b""  # type: ignore[union-attr]
            if member.name.endswith("metadata.properties"):
                raw = raw.replace(f"= {SEGMENTS[0]}\n".encode(), b"= a\\\\b\n")
                member.size = len(raw)
            target.addfile(member, io.BytesIO(raw))
    assert "cannot be used as a file name" in run.error("segment", "upload", numbers.name, odd)
    with pinot.client() as client:
        client.segments.upload_tar(numbers.table, odd)
    assert run.read("segment", "show", numbers.name, r"a\b")["segment.total.docs"] == "3"
    for name in ("a/b", r"a\c", "..", "../x"):
        for command in ("show", "delete"):
            assert f"has no segment {name}" in run.error("segment", command, numbers.name, name)
    run("segment", "delete", numbers.name, r"a\b", "--yes")
    assert listed(run, "segment", "list", numbers.name) == SEGMENTS


def test_the_download_of_a_segment(run: Run, numbers: Numbers, tmp_path: Path) -> None:
    target, missing = tmp_path / "x.tar.gz", tmp_path / "y.tar.gz"
    download = ("segment", "download", numbers.name, SEGMENTS[0], "--to", target)
    fetched = run.read(*download)
    assert (fetched["file"], fetched["size_bytes"]) == (str(target), target.stat().st_size)
    with tarfile.open(target) as archive:
        assert archive.getnames()[0].split("/")[0] == SEGMENTS[0]
    assert "already" in run.error(*download, code=2)
    run.error("segment", "download", numbers.name, "nope", "--to", missing)
    assert list(tmp_path.iterdir()) == [target], "a failed download leaves a file"


def test_query(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    sql = f"select id, amount from {numbers.name} order by id limit 100"
    with pinot.broker() as broker:
        wait_for(lambda: len(broker.query(sql).rows) == 6, "the broker to see both segments")
    found = run.read("query", sql)
    assert [column["name"] for column in found["columns"]] == ["id", "amount"]
    assert found["rows"] == [[i, (i % 3) / 2] for i in range(6)]
    lines = list(csv.reader(run("query", "-", "--output", "csv", stdin=sql).stdout.splitlines()))
    assert lines[:3] == [["id", "amount"], ["0", "0.0"], ["1", "0.5"]]
    assert run("query", sql).stdout.splitlines()[0].split() == ["id", "amount"]
    assert "6 rows" in run("query", sql, "--option", "timeoutMs=5000").stderr


def test_a_query_that_is_wrong(run: Run, numbers: Numbers) -> None:
    refused = run("query", f"select nope from {numbers.name}", "--output", "json", code=1)
    error = json.loads(refused.stderr)["error"]
    assert (error["type"], refused.stdout) == ("QueryError", "")
    assert "nope" in error["message"]
    assert run.error("query", "select 1", "--option", "x", code=2).startswith("Error: --option 'x'")
    unknown = run.error("query", f"select id from {numbers.name}x")
    assert f"there is no table {numbers.name}x" in unknown
    assert f"did you mean {numbers.name}?" in unknown


def test_a_new_column_and_a_reload(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    document = run.read("schema", "show", numbers.name)
    document["metricFieldSpecs"].append({"name": "extra", "dataType": "LONG"})
    sql = ("query", f"select * from {numbers.name} limit 100")
    updated = run("schema", "update", "-", stdin=json.dumps(document)).stderr
    assert f"segments of {numbers.table} lack extra until they are reloaded" in updated
    if has(Capability.MISSING_COLUMNS_AS_DEFAULT):
        assert "queries see the default value of a new column" in updated
        wait_for(lambda: "extra" in _columns(run, sql), "the brokers and servers to know the new column")
    else:
        assert "leaves them out" in updated
        wait_for(lambda: _are_missed(pinot, sql[1]), "the servers to know the new column")
        assert "2 of 2 segments lack a column" in run.error(*sql)
        assert "0 rows" in run(*sql, "--allow-partial").stderr
    reloaded = run("schema", "update", "-", "--reload", stdin=json.dumps(document))
    assert f"{numbers.table}: reloaded 2 of 2 segment replicas." in reloaded.stderr
    wait_for(lambda: "extra" in _columns(run, sql), "the new column in queries")


def _columns(run: Run, sql: tuple[str, str]) -> set[Any]:
    found = run.read(*sql)
    assert len(found["rows"]) == 6
    return {column["name"] for column in found["columns"]}


def _are_missed(pinot: PinotCluster, sql: str) -> bool:
    with pinot.broker() as broker, suppress(PartialResultError):
        broker.query(sql)
        return False
    return True


def test_reload(run: Run, numbers: Numbers) -> None:
    reload = ("table", "reload", numbers.name)
    would = run.read(*reload, "--dry-run")
    assert (would["segments"], would["jobs"], would["changed"]) == (SEGMENTS, {}, False)
    result = run(*reload, "--output", "json")
    done = json.loads(result.stdout)
    assert (done["reloaded"], done["replicas"]) == (True, 2)
    assert f"Reloading {numbers.table}: 2/2 replicas" in result.stderr
    job = done["jobs"][numbers.table]
    status = run.read("table", "reload-status", job)
    assert (status["table"], status["segment"]) == (numbers.table, None)
    assert (status["replicas"], status["reloaded"], status["servers_failed"]) == (2, 2, 0)
    run.error("table", "reload-status", "no-such-job")

    segment = SEGMENTS[1]
    job = run.read(*reload, segment, "--no-wait")["jobs"][segment]

    def loaded() -> bool:
        status = run.read("table", "reload-status", job)
        assert (status["segment"], status["replicas"]) == (segment, 1)
        return bool(status["reloaded"] == 1)

    wait_for(loaded, f"{segment} to be reloaded")
    again = run.read(*reload, segment, "--download")
    assert (again["reloaded"], again["replicas"]) == (True, 1)
    assert "has no segment nope" in run.error(*reload, "nope")


def test_size(run: Run, numbers: Numbers) -> None:
    found = run.read("table", "size", numbers.name)
    assert found["missing_segments"] == found["silent_servers"] == []
    assert found["reported_bytes"] == found["estimated_bytes"] > 0
    assert {row["segment"] for row in found["segments"]} == set(SEGMENTS)
    total = sum(row["size_bytes"] for row in found["segments"])
    assert total == found["reported_bytes"] == sum(row["size_bytes"] for row in found["servers"])
    assert SEGMENTS[0] in run("table", "size", numbers.name, "--by-segment").stdout


def test_reset(run: Run, numbers: Numbers) -> None:
    reset = ("segment", "reset", numbers.name)
    assert "would be reset" in run(*reset, SEGMENTS[0], "--dry-run").stderr
    assert run.read(*reset, SEGMENTS[0])["online"]
    assert "no segment in ERROR" in run(*reset, "--errors").stderr
    assert len(servers_of(run, numbers.name)) == 2


def test_rebalance_shows_its_plan_asks_and_moves_segments(run: Run, numbers: Numbers) -> None:
    rebalance = ("table", "rebalance", numbers.name)
    before = servers_of(run, numbers.name)
    assert "nothing moves" in run(*rebalance).stderr
    set_replication(run, numbers.name, 2)
    plan = run.read(*rebalance, "--dry-run")
    assert (plan["replicas_before"], plan["replicas_after"], plan["replicas_to_add"]) == (1, 2, 2)
    assert plan["bytes_to_add"] == run.read("table", "size", numbers.name)["reported_bytes"]
    for move in plan["moves"]:
        assert not move["removed"]
        assert not before[move["segment"]] & set(move["added"])
    assert sum(server["added"] for server in plan["servers"]) == 2
    assert "2 of 2 segments to move: 2 replicas to fetch" in run.error(*rebalance, stdin="n\n")
    assert servers_of(run, numbers.name) == before, "moved without a yes"

    result = run(*rebalance, "--yes", "--output", "json")
    done = json.loads(result.stdout)
    assert done["finished"]
    assert f"Rebalancing {numbers.table}: 2/2 segments" in result.stderr
    assert {len(servers) for servers in servers_of(run, numbers.name).values()} == {2}
    again = run.read(*rebalance, "--yes")
    assert (again["moves"], again["changed"], again["finished"]) == ([], False, True)
    if has(Capability.REBALANCE_STATUS):
        wait_for(lambda: _status(run, done["job"]) == "DONE", "the job to be done")
    else:
        assert done["job"] is None
        assert "Pinot 1.0.0 or later" in run.error("table", "rebalance-status", "x")

    set_replication(run, numbers.name, 1)
    back = run.read(*rebalance, "--downtime", "--yes", "--timeout", "60")
    assert (back["replicas_to_remove"], back["replicas_to_add"], back["finished"]) == (2, 0, True)
    assert {len(servers) for servers in servers_of(run, numbers.name).values()} == {1}

    cancel = ("table", "rebalance-cancel", numbers.name)
    if has(Capability.REBALANCE_CANCEL):
        nothing = {"table": numbers.table, "jobs": [], "changed": False, "dry_run": False}
        assert run.read(*cancel) == nothing
    else:
        assert "Pinot 1.1.0 or later" in run.error(*cancel)


def _status(run: Run, job: str) -> str:
    found = run.read("table", "rebalance-status", job)
    assert found["job"] == job
    return str(found["status"])


def test_disable_and_enable(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    disable, enable = (("table", word, numbers.name) for word in ("disable", "enable"))
    assert run.read(*disable, "--dry-run")["enabled"]
    run.error(*disable, stdin="n\n")
    assert "already enabled" in run(*enable).stderr
    assert run.read(*disable, "--yes")["changed"]
    assert "already disabled" in run(*disable, "--yes").stderr
    wait_for(lambda: _states(run, numbers.name) == {"OFFLINE"}, "the servers to unload all segments")
    assert run.read(*enable)["changed"]
    run("segment", "wait", numbers.name)
    wait_six_rows(pinot, numbers)


def _states(run: Run, table: str) -> set[str]:
    return {row["external_view"] for row in run.read("table", "state", table)}


def test_brokers_are_rebuilt(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    command = ("table", "rebuild-brokers", numbers.name, "--routing")

    def urls() -> set[str]:
        with pinot.client() as client:
            return set(client.cluster.broker_urls(numbers.name))

    assert pinot.broker_instance in run.read(*command, "--dry-run")["brokers"]
    before = urls()
    rebuilt = set(run.read(*command)["routing"])
    # Other tests may start and stop further ones meanwhile.
    assert pinot.broker_url in before & urls() <= rebuilt
    wait_six_rows(pinot, numbers)


def test_what_is_refused(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    assert "does not consume a stream" in run.error("table", "consuming", numbers.name, code=2)
    to_itself = ("table", "copy", numbers.name, "--to-controller", pinot.controller_url)
    assert f"the table {numbers.table} already exists" in run.error(*to_itself)


@FULL  # how a copy is made: tests/unit/controller_client/rest/test_administration.py
def test_a_copy_to_another_cluster(run: Run, numbers: Numbers, pinot: PinotCluster, tmp_path: Path) -> None:
    with other_controller(pinot, f"Other{numbers.name}", tmp_path) as url:
        there, copy = ("--controller", url), ("table", "copy", numbers.name, "--to-controller", url)
        with ControllerClient(ControllerConfig(url)) as client:
            # For the tenants that the table needs.
            client.instances.create("server", "127.0.0.99", 1, tags=["DefaultTenant_OFFLINE"])
            client.instances.create("broker", "127.0.0.99", 2, tags=["DefaultTenant_BROKER"])
        would = run.read(*copy, "--dry-run")
        assert (would["creates_schema"], would["to_controller"]) == (True, url)
        assert run.read(*there, "table", "list") == run.read(*there, "schema", "list") == []
        run.error("table", "copy", numbers.name, "--to-profile", "nowhere", code=2)
        assert run.read(*copy)["changed"]
        for words in (("schema", "show", numbers.name), ("table", "show", numbers.name)):
            assert run.read(*there, *words) == run.read(*words)
        assert "already" in run.error(*copy)
        run(*there, "table", "delete", numbers.name, "--yes")
        assert run.read(*copy, "--dry-run")["creates_schema"] is False
        document = run.read("schema", "show", numbers.name)
        document["metricFieldSpecs"].append({"name": "more", "dataType": "LONG"})
        run(*there, "schema", "update", "-", stdin=json.dumps(document))
        assert "a different schema" in run.error(*copy)


def test_lineage(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    entries, doctor = ("lineage", "list", numbers.name), ("lineage", "doctor", numbers.name)
    old = (*doctor, "--older-than", "0")
    assert run.read(*entries) == []
    run(*doctor)
    with pinot.client() as client:
        entry_id = client.lineage.start(numbers.table, [], ["never_pushed"])
    (entry,) = run.read(*entries)
    assert (entry["entry"], entry["state"]) == (entry_id, "IN_PROGRESS")
    run(*doctor)
    (fault,) = run.read(*old, code=1)
    assert (fault["entry"], fault["finding"]) == (entry_id, "STUCK")
    assert "1 of 1 faults would be repaired" in run.error(*old, "--repair", "--dry-run")
    run.error(*old, "--repair", stdin="n\n")
    assert [each["state"] for each in run.read(*entries)] == ["IN_PROGRESS"], "repaired without confirmation"
    run(*old, "--repair", "--yes")
    assert {each["state"] for each in run.read(*entries)} <= {"REVERTED"}
    run(*old)


def test_instances_and_tenants(run: Run, pinot: PinotCluster) -> None:
    name = pinot.broker_instance
    instances = run.read("instance", "list", "--live")
    assert [each["live"] for each in instances if each["instance"] == name] == [True]
    assert run.read("instance", "show", name)["instanceName"] == name
    assert {"role": "server", "tenant": "DefaultTenant"} in run.read("tenant", "list")


def test_zookeeper(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    assert "PROPERTYSTORE" in listed(run, "zk", "children")
    path = f"/PROPERTYSTORE/SEGMENTS/{numbers.table}"
    first = f"{path}/{SEGMENTS[0]}"
    assert listed(run, "zk", "children", path) == SEGMENTS
    assert run.read("zk", "get", first)["record"]["simpleFields"]["segment.total.docs"] == "3"
    assert "segment.total.docs" in run("zk", "get", first).stdout
    assert "no such znode" in run.error("zk", "get", f"{path}/nope")
    assert run.read("zk", "get", path)["record"] is None, "a folder"

    without_controller = ("--controller", "http://127.0.0.1:1", "--zookeeper", pinot.zookeeper_address)
    children = ("zk", "children", "--output", "json")
    found = run(*without_controller, "--cluster-name", pinot.cluster_name, *children)
    assert "LIVEINSTANCES" in found.stdout
    wrong = run.error(*without_controller, "--cluster-name", "NoSuchCluster", *children)
    assert pinot.cluster_name in wrong, "the error names the clusters that are there"


def test_deletions(run: Run, numbers: Numbers) -> None:
    command = ("segment", "delete", numbers.name, SEGMENTS[1])
    run(*command, "--dry-run")
    run.error(*command, stdin="n\n")
    run.error(*command, code=2)
    assert listed(run, "segment", "list", numbers.name) == SEGMENTS
    assert "has no segment nope" in run.error("segment", "delete", numbers.name, "nope")
    run(*command, "--yes")
    assert listed(run, "segment", "list", numbers.name) == SEGMENTS[:1]

    assert "uses the schema" in run.error("schema", "delete", numbers.name, "--yes")
    run("table", "delete", numbers.name, "--dry-run")
    run("table", "delete", numbers.name, stdin="y\n")
    assert numbers.table not in listed(run, "table", "list")
    run("schema", "delete", numbers.name, "--dry-run")
    run("schema", "delete", numbers.name, "--yes")
    assert numbers.name not in listed(run, "schema", "list")


def test_the_installed_script_with_an_unreachable_controller() -> None:
    script = str(Path(sys.executable).with_name("pinotctl"))
    command = [script, "--controller", "http://127.0.0.1:1", "table", "list", "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr.splitlines()[-1])["error"]["type"] == "UnreachableError"
