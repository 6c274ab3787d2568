"""A table from its creation to its deletion, only by pinotctl; the tests run in order, on one table."""

import csv
import json
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from controller_client.errors import PartialResultError
from controller_client.rest.capabilities import Capability
from tests.integration.cli.conftest import Numbers, Run
from tests.support.cluster import PinotCluster
from tests.support.needs import has
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]


def rows(result: Result) -> Any:
    return json.loads(result.stdout)


def names(result: Result) -> list[str]:
    return [next(iter(row.values())) for row in rows(result)]


def test_info(run: Run, pinot: PinotCluster) -> None:
    found = rows(run("info", "--output", "json"))
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
    assert "ingestion_append     yes" in run("info").stdout
    assert "list_lineage" in run("info").stdout


def test_schema_create(run: Run, numbers: Numbers) -> None:
    would = rows(run("schema", "create", numbers.schema_file, "--dry-run", "--output", "json"))
    assert would == {"schema": numbers.name, "fields": 2, "changed": False, "dry_run": True}
    assert numbers.name not in names(run("schema", "list", "--output", "json"))
    run("schema", "create", numbers.schema_file)
    assert numbers.name in names(run("schema", "list", "--output", "json"))
    assert "409" in run("schema", "create", numbers.schema_file, code=1).stderr
    run("schema", "create", numbers.schema_file, "--override")


def test_schema_show_and_update(run: Run, numbers: Numbers) -> None:
    lines = run("schema", "show", numbers.name).stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["id", "INT", "dimension"],
        ["amount", "DOUBLE", "metric"],
    ]
    document = rows(run("schema", "show", numbers.name, "--output", "json"))
    document["dimensionFieldSpecs"].append({"name": "label", "dataType": "STRING"})
    would = run("schema", "update", "-", "--dry-run", stdin=json.dumps(document))
    assert "new fields ['label']" in would.stderr
    assert "label" not in run("schema", "show", numbers.name).stdout
    run("schema", "update", "-", stdin=json.dumps(document))
    assert "label" in run("schema", "show", numbers.name).stdout


def test_table_create(run: Run, numbers: Numbers) -> None:
    twt = f"{numbers.name}_OFFLINE"
    assert "there is no table" in run("table", "show", numbers.name, code=1).stderr
    run("table", "create", numbers.table_file, "--dry-run")
    assert twt not in names(run("table", "list", "--output", "json"))
    done = rows(run("table", "create", numbers.table_file, "--output", "json"))
    assert done == {"table": twt, "schema": numbers.name, "changed": True, "dry_run": False}
    assert twt in names(run("table", "list", "--type", "offline", "--output", "json"))
    assert twt not in names(run("table", "list", "--type", "realtime", "--output", "json"))
    assert f"the table {twt} already exists" in run("table", "create", numbers.table_file, code=1).stderr
    wrong = {
        **json.loads(numbers.table_file.read_text()),
        "tableIndexConfig": {"invertedIndexColumns": ["x"]},
    }
    refused = run("table", "update", "-", stdin=json.dumps(wrong), code=1)
    assert "names the column x, which is not in the table's schema" in refused.stderr
    for command in (("table", "show"), ("segment", "list"), ("task", "run")):
        assert f"did you mean {numbers.name}" in run(*command, f"{numbers.name}x", code=1).stderr


def test_table_update(run: Run, numbers: Numbers) -> None:
    document = rows(run("table", "show", numbers.name, "--output", "json"))
    document["metadata"] = {"customConfigs": {"owner": "me"}}
    would = run("table", "update", "-", "--dry-run", stdin=json.dumps(document))
    assert "changed parts: metadata" in would.stderr
    done = rows(run("table", "update", "-", "--output", "json", stdin=json.dumps(document)))
    assert (done["different_parts"], done["changed"]) == (["metadata"], True)
    found = rows(run("table", "show", f"{numbers.name}_OFFLINE", "--output", "json"))
    assert found["metadata"] == {"customConfigs": {"owner": "me"}}


def test_segment_upload(run: Run, numbers: Numbers) -> None:
    would = run("segment", "upload", numbers.name, *numbers.tars, "--dry-run")
    assert would.stderr.count("Would add the segment") == 2
    assert rows(run("segment", "list", numbers.name, "--output", "json")) == []
    run("segment", "upload", numbers.name, *numbers.tars)
    assert names(run("segment", "list", numbers.name, "--output", "json")) == numbers.segments
    waited = rows(run("segment", "wait", numbers.name, "--timeout", "60", "--output", "json"))
    assert waited["segments"] == numbers.segments
    would = run("segment", "upload", numbers.name, numbers.tars[0], "--dry-run")
    assert "Would replace" in would.stderr


def test_segment_show_and_table_state(run: Run, numbers: Numbers) -> None:
    metadata = rows(run("segment", "show", numbers.name, numbers.segments[0], "--output", "json"))
    assert metadata["segment.total.docs"] == 3
    assert "404" in run("segment", "show", numbers.name, "nope", code=1).stderr
    state = rows(run("table", "state", numbers.name, "--output", "json"))
    assert [row["segment"] for row in state] == numbers.segments
    assert {(row["ideal_state"], row["external_view"]) for row in state} == {("ONLINE", "ONLINE")}
    assert rows(run("table", "state", numbers.name, "--differences", "--output", "json")) == []


def test_query(run: Run, numbers: Numbers) -> None:
    sql = f"select id, amount from {numbers.name} order by id limit 100"
    found = rows(run("query", sql, "--output", "json"))
    assert [column["name"] for column in found["columns"]] == ["id", "amount"]
    assert found["rows"] == [[i, (i % 3) / 2] for i in range(6)]
    lines = list(csv.reader(run("query", "-", "--output", "csv", stdin=sql).stdout.splitlines()))
    assert lines[:3] == [["id", "amount"], ["0", "0.0"], ["1", "0.5"]]
    assert run("query", sql).stdout.splitlines()[0].split() == ["id", "amount"]
    empty = run("query", f"select id from {numbers.name} limit 100", "--option", "timeoutMs=5000")
    assert "6 rows" in empty.stderr


def test_an_invalid_query_is_an_error(run: Run, numbers: Numbers) -> None:
    result = run("query", f"select nope from {numbers.name}", "--output", "json", code=1)
    error = json.loads(result.stderr)["error"]
    assert (error["type"], result.stdout) == ("QueryError", "")
    assert "nope" in error["message"]
    assert run("query", "select 1", "--option", "x", code=2).stderr.startswith("Error: --option 'x'")


def test_a_new_column_and_a_reload(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    document = rows(run("schema", "show", numbers.name, "--output", "json"))
    document["metricFieldSpecs"].append({"name": "extra", "dataType": "LONG"})
    sql = ("query", f"select * from {numbers.name} limit 100")
    updated = run("schema", "update", "-", stdin=json.dumps(document))
    assert f"segments of {numbers.name}_OFFLINE lack extra until they are reloaded" in updated.stderr
    if has(Capability.MISSING_COLUMNS_AS_DEFAULT):
        assert "queries see the default value of a new column" in updated.stderr
        wait_for(lambda: _columns(run, sql) >= {"extra"}, "the brokers and servers to know the new column")
    else:
        assert "leaves them out" in updated.stderr
        _rows_are_missed(run, sql, pinot)
    reloaded = run("schema", "update", "-", "--reload", stdin=json.dumps(document))
    assert f"{numbers.name}_OFFLINE: reloaded 2 of 2 segment replicas." in reloaded.stderr
    assert "extra" in _columns(run, sql)


def _columns(run: Run, sql: tuple[str, str]) -> set[str]:
    found = rows(run(*sql, "--output", "json"))
    assert len(found["rows"]) == 6
    return {column["name"] for column in found["columns"]}


def _rows_are_missed(run: Run, sql: tuple[str, str], pinot: PinotCluster) -> None:
    def missed() -> bool:
        with pinot.broker() as broker, suppress(PartialResultError):
            broker.query(sql[1])
            return False
        return True

    wait_for(missed, "the servers to know the new column")
    assert "2 of 2 segments lack a column" in run(*sql, code=1).stderr
    assert "0 rows" in run(*sql, "--allow-partial").stderr


def test_an_unknown_table_in_a_query(run: Run, numbers: Numbers) -> None:
    result = run("query", f"select id from {numbers.name}x", code=1)
    assert f"there is no table {numbers.name}x" in result.stderr
    assert f"did you mean {numbers.name}?" in result.stderr


def test_segment_download(run: Run, numbers: Numbers, tmp_path: Path) -> None:
    target = tmp_path / "x.tar.gz"
    fetched = rows(
        run("segment", "download", numbers.name, numbers.segments[0], "--to", target, "--output", "json")
    )
    assert (fetched["file"], fetched["size_bytes"]) == (str(target), target.stat().st_size)
    with tarfile.open(target) as archive:
        assert archive.getnames()[0].split("/")[0] == numbers.segments[0]
    assert (
        "already"
        in run("segment", "download", numbers.name, numbers.segments[0], "--to", target, code=2).stderr
    )
    missing = tmp_path / "y.tar.gz"
    run("segment", "download", numbers.name, "nope", "--to", missing, code=1)
    assert list(tmp_path.iterdir()) == [target], "a failed download leaves a file"


def test_a_file_that_is_not_a_segment_is_not_sent(run: Run, numbers: Numbers, tmp_path: Path) -> None:
    wrong = tmp_path / "x.tar.gz"
    wrong.write_text("hello")
    result = run("segment", "upload", numbers.name, wrong, code=1)
    assert "the file is not a tar.gz" in result.stderr
    assert str(wrong) in result.stderr


def test_lineage(run: Run, numbers: Numbers, pinot: PinotCluster) -> None:
    assert rows(run("lineage", "list", numbers.name, "--output", "json")) == []
    run("lineage", "doctor", numbers.name)
    with pinot.client() as client:
        entry_id = client.lineage.start(f"{numbers.name}_OFFLINE", [], ["never_pushed"])
    (entry,) = rows(run("lineage", "list", numbers.name, "--output", "json"))
    assert (entry["entry"], entry["state"]) == (entry_id, "IN_PROGRESS")
    run("lineage", "doctor", numbers.name)
    old = ("lineage", "doctor", numbers.name, "--older-than", "0")
    (fault,) = rows(run(*old, "--output", "json", code=1))
    assert (fault["entry"], fault["finding"]) == (entry_id, "STUCK")
    assert "1 of 1 faults would be repaired" in run(*old, "--repair", "--dry-run", code=1).stderr
    run(*old, "--repair", code=1, stdin="n\n")
    (entry,) = rows(run("lineage", "list", numbers.name, "--output", "json"))
    assert entry["state"] == "IN_PROGRESS", "repaired without confirmation"
    run(*old, "--repair", "--yes")
    assert all(
        entry["state"] == "REVERTED"
        for entry in rows(run("lineage", "list", numbers.name, "--output", "json"))
    )
    run(*old)


def test_instances_and_tenants(run: Run, pinot: PinotCluster) -> None:
    instances = rows(run("instance", "list", "--live", "--output", "json"))
    assert any(each["instance"].startswith("Server_") and each["live"] for each in instances)
    name = instances[0]["instance"]
    assert rows(run("instance", "show", name, "--output", "json"))["instanceName"] == name
    assert {"role": "server", "tenant": "DefaultTenant"} in rows(run("tenant", "list", "--output", "json"))


def test_zookeeper(run: Run, numbers: Numbers) -> None:
    assert "PROPERTYSTORE" in names(run("zk", "children", "--output", "json"))
    path = f"/PROPERTYSTORE/SEGMENTS/{numbers.name}_OFFLINE"
    assert names(run("zk", "children", path, "--output", "json")) == numbers.segments
    found = rows(run("zk", "get", f"{path}/{numbers.segments[0]}", "--output", "json"))
    assert found["record"]["simpleFields"]["segment.total.docs"] == "3"
    assert "segment.total.docs" in run("zk", "get", f"{path}/{numbers.segments[0]}").stdout
    assert "no such znode" in run("zk", "get", f"{path}/nope", code=1).stderr
    assert rows(run("zk", "get", path, "--output", "json"))["record"] is None, "a folder"


def test_zookeeper_without_a_controller(run: Run, pinot: PinotCluster) -> None:
    places = ("--zookeeper", pinot.zookeeper_address, "--cluster-name", pinot.cluster_name)
    found = run("--controller", "http://127.0.0.1:1", *places, "zk", "children", "--output", "json")
    assert "LIVEINSTANCES" in names(found)
    wrong = run(*places[:3], "NoSuchCluster", "zk", "children", code=1)
    assert pinot.cluster_name in wrong.stderr, "the error names the clusters that are there"


def test_segment_delete(run: Run, numbers: Numbers) -> None:
    command = ("segment", "delete", numbers.name, numbers.segments[1])
    run(*command, "--dry-run")
    run(*command, code=1, stdin="n\n")
    run(*command, code=2)
    assert names(run("segment", "list", numbers.name, "--output", "json")) == numbers.segments
    assert "has no segment nope" in run("segment", "delete", numbers.name, "nope", code=1).stderr
    run(*command, "--yes")
    assert names(run("segment", "list", numbers.name, "--output", "json")) == numbers.segments[:1]


def test_table_and_schema_delete(run: Run, numbers: Numbers) -> None:
    assert "uses the schema" in run("schema", "delete", numbers.name, "--yes", code=1).stderr
    run("table", "delete", numbers.name, "--dry-run")
    run("table", "delete", numbers.name, stdin="y\n")
    assert f"{numbers.name}_OFFLINE" not in names(run("table", "list", "--output", "json"))
    run("schema", "delete", numbers.name, "--dry-run")
    run("schema", "delete", numbers.name, "--yes")
    assert numbers.name not in names(run("schema", "list", "--output", "json"))


def test_the_installed_script_with_an_unreachable_controller() -> None:
    script = str(Path(sys.executable).with_name("pinotctl"))
    command = [script, "--controller", "http://127.0.0.1:1", "table", "list", "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert done.stdout == ""
    assert json.loads(done.stderr.splitlines()[-1])["error"]["type"] == "UnreachableError"
