"""DataFrames written with ``format("pinot")``, and what queries see afterwards."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.errors import ConfigError, NotFoundError, PinotPluginError
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinot_airflow.conditions.writes import WriteIsPublished
from spark_connectors import prepare_for_pinot
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.plan import WritePlan
from tests.integration.spark_connectors.conftest import (
    ID_COLUMN,
    IDS_ALONE,
    Connector,
    ConnectorError,
    MakeTable,
    SparkTable,
    with_ids,
)
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.tiers import FULL

SCHEMA = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "LONG"},
        {"name": "name", "dataType": "STRING"},
        {"name": "tags", "dataType": "STRING", "singleValueField": False},
    ],
    "metricFieldSpecs": [{"name": "x", "dataType": "DOUBLE"}],
}
BY_NAME = {"columnPartitionMap": {"name": {"functionName": "Murmur", "numPartitions": 2}}}


def test_append_then_overwrite(spark: SparkSession, make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table(SCHEMA, tableIndexConfig={"segmentPartitionConfig": BY_NAME, "sortedColumn": ["id"]})
    report_path = tmp_path / "report.json"
    frame = spark.range(0, 1000, 1, 2).selectExpr(
        "id", "concat('ü', id % 7) name", "array('a', concat('t', id % 3)) tags", "id * 0.5D x"
    )
    table.write(frame, "append", reportPath=str(report_path))
    # Each query runs right after the write: brokers must see the new segments and no longer the old ones.
    seen = "count(*), sum(x), max(id), distinctcountmv(tags)"
    assert table.query(seen) == [(1000, 249750.0, 999, 4)]
    assert len(table.segments()) == 2 * 2, "each of the two tasks has rows of both partitions"
    assert [task["rows"] for task in json.loads(report_path.read_text())["tasks"]] == [500, 500]
    table.write(prepare_for_pinot(frame, **table.options), "append", reportPath=str(report_path))
    assert table.query(seen) == [(2000, 499500.0, 999, 4)]
    assert len(table.segments()) == 4 + 2
    report = json.loads(report_path.read_text())
    assert (report["outcome"], report["rows"], report["segments"]) == ("written", 1000, 2)
    assert sum(task["rows"] for task in report["tasks"]) == 1000
    assert {name for task in report["tasks"] for name in task["segments"]} <= set(table.segments())
    assert report["bytes"] > 0
    assert min(report["build_s"], report["upload_s"], report["commit_s"]) > 0
    assert list(tmp_path.iterdir()) == [report_path]
    table.write(frame.where("id < 10"), "overwrite", reportPath=str(report_path))
    assert table.query("count(*), sum(x)") == [(10, 22.5)]
    report = json.loads(report_path.read_text())
    assert (report["replaced_segments"], report["servers_behind"]) == (6, {})


def test_without_rows_there_is_no_segment_unless_something_is_replaced(
    connector: Connector, make_table: MakeTable
) -> None:
    table = make_table(IDS_ALONE)
    connector.write(table.options, "append", ID_COLUMN, [])
    assert table.segments() == []
    connector.write(table.options, "append", ID_COLUMN, with_ids([1]))
    connector.write(table.options, "overwrite", ID_COLUMN, [])
    assert table.query("count(*)") == [(0,)]


def test_a_write_that_does_not_pass_its_checks_changes_nothing(
    connector: Connector, make_table: MakeTable
) -> None:
    columns = StructType().add("id", "long").add("City", "string")
    names = [{"name": "id", "dataType": "LONG"}, {"name": "City", "dataType": "STRING"}]
    table = make_table({"dimensionFieldSpecs": names})
    rows = [{"id": number, "City": "Oslo"} for number in range(100)]
    without_city = [{**row, "City": None} for row in rows]
    connector.write(table.options, "append", columns, rows)
    before = table.segments()

    def refused(mode: str, rows: list[dict[str, Any]], words: str, **checks: str) -> None:
        with pytest.raises(
            ConnectorError, match=f"ChecksFailedError: .*{table.typed} is unchanged"
        ) as caught:
            connector.write(table.options, mode, columns, rows, **checks)
        assert words in str(caught.value)
        assert table.segments() == before
        assert table.staged() == []

    outside = [*rows, {"id": -1, "City": "Bonn"}]
    refused("append", outside, "checks.range.id is 0..100: segment", **{"checks.range.ID": "0..100"})
    refused(
        "overwrite", rows[:10], "10 rows instead of 100, which is -90.0%", **{"checks.maxRowsChange": "9%"}
    )
    refused("overwrite", [], "the table would have 0 rows", **{"checks.minRows": "1"})
    refused("overwrite", without_city, "column City has a value in 100.0% of the table's rows")
    meant = {"checks.mayBecomeEmpty": "City", "checks.minRows": "200", "checks.maxRowsChange": "100%"}
    connector.write(table.options, "append", columns, without_city, **meant)
    assert table.query("count(*)") == [(200,)]


def test_writes_with_the_same_id_are_applied_once(connector: Connector, make_table: MakeTable) -> None:
    table = make_table(IDS_ALONE)

    def write(mode: str, rows: int, write_id: str) -> None:
        connector.write(table.options, mode, ID_COLUMN, with_ids(range(rows)), writeId=write_id)

    for write_id in ("first: any text, ü", "first: any text, ü", "second"):
        write("append", 10, write_id)
    assert table.query("count(*)") == [(20,)]
    with PinotAccess(ClusterAddress(table.client.config)) as access:
        looks = [WriteIsPublished(table.name, each).look(access).done for each in ("second", "third")]
    assert looks == [True, False]
    write("overwrite", 7, "third")
    # The segments of the first write no longer exist.
    for mode, write_id in (("append", "first: any text, ü"), ("overwrite", "first: any text, ü")):
        write(mode, 10, write_id)
    write("overwrite", 10, "third")
    assert table.query("count(*)") == [(7,)]


def test_a_table_is_created_from_the_dataframe_once(
    spark: SparkSession, pinot: PinotCluster, client: ControllerClient
) -> None:
    name = f"sp_{uuid.uuid4().hex[:12]}"
    frame = spark.range(0, 6, 1, 2).selectExpr(
        "id",
        "cast(id as int) small",
        "id * 0.5D x",
        "cast(id as decimal(9,2)) price",
        "concat('n', id) name",
        "nullif(id, 3) maybe",
        "array(id, id + 1) many",
        "timestamp_seconds(1577836800 + id) ts",
        "map('k', id) doc",
        "id > 2 big",
    )
    with BrokerClient([pinot.broker_url]) as broker:
        table = SparkTable(name, pinot, client, broker)

        def plan(**options: str) -> WritePlan:
            parsed = parse_options(WriteOptions, {**table.options, **options})
            return WritePlan.make(parsed, frame.schema, overwrite=False)

        with pytest.raises(NotFoundError, match=r"(?s)there is no table.*set 'createTable'"):
            plan()
        with pytest.raises(ConfigError, match="did you mean 'name'"):
            plan(createTable="true", invertedIndexColumns="nam")
        with pytest.raises(ConfigError, match="'timeColumnName' id has the type bigint"):
            plan(createTable="true", timeColumnName="id")
        assert not client.tables.exists(name)
        options = {
            "createTable": "true",
            "timeColumnName": "ts",
            "replication": "2",
            "invertedIndexColumns": "name, small",
            "noDictionaryColumns": "x",
            "bloomFilterColumns": "id",
            "rangeIndexColumns": "small",
            "sortedColumn": "id",
        }
        try:
            with ThreadPoolExecutor(4) as pool:
                assert {made.table for made in pool.map(lambda _: plan(**options), range(4))} == {table.typed}
            table.write(frame, "append", **options)
            config = client.tables.get(table.typed)
            assert config.time_column == "ts"
            assert str(config.segments_config.replication) == "2"
            indexing = config.table_index_config
            assert indexing["invertedIndexColumns"] == ["name", "small"]
            assert indexing["noDictionaryColumns"] == ["x"]
            assert indexing["bloomFilterColumns"] == ["id"]
            assert indexing["rangeIndexColumns"] == ["small"]
            assert indexing["sortedColumn"] == ["id"]
            assert indexing["nullHandlingEnabled"] is True
            assert table.query("count(*), sum(x), sum(price), max(ts), countmv(many)") == [
                (6, 7.5, 15.0, 1577836805000.0, 12)
            ]
            assert table.query("count(*)", "where maybe is null") == [(1,)]
        finally:
            drop(client, name)


def test_errors_before_the_job_starts(spark: SparkSession, make_table: MakeTable, tmp_path: Path) -> None:
    ids_alone, table = make_table(IDS_ALONE), make_table(SCHEMA)
    for options, message in (
        ({"table": f"{ids_alone.name}_REALTIME"}, "is a REALTIME table"),
        ({"segmentRows": "3"}, "unknown option 'segmentRows'"),
        ({"reportPath": str(tmp_path / "none" / "report.json")}, "the folder of 'reportPath' does not exist"),
        ({"overwriteScope": "timeRange", "overwriteFrom": "1", "overwriteTo": "2"}, "no time column"),
    ):
        with pytest.raises(PinotPluginError, match=message):
            WritePlan.make(
                parse_options(WriteOptions, {**ids_alone.options, **options}), ID_COLUMN, overwrite=True
            )
    wrong = spark.range(3).selectExpr("id", "id Name", "current_date() x")
    message = (
        r"(?s)Name: the table has no such column, did you mean 'name'.*x: date cannot be stored as DOUBLE"
    )
    with pytest.raises(PySparkException, match=message):
        table.write(wrong, "append")
    with pytest.raises(PySparkException, match=r"lacks 3 of the table's 4 columns, .*: name, tags, x"):
        table.write(spark.range(3), "append")
    # Including Spark's default mode.
    ids = spark.range(3)
    for refused in (ids.write, ids.write.mode("ignore"), ids.write.mode("append").partitionBy("id")):
        with pytest.raises(PySparkException, match=r"UNSUPPORTED_DATA_SOURCE_SAVE_MODE|[Pp]artition"):
            refused.format("pinot").options(**table.options).save()
    assert table.segments() == []
    table.write(spark.range(3), "append", maxMissingColumns="75%")
    assert table.query("count(*)", "where x is null") == [(3,)]


@FULL
def test_a_catalog_table_loses_the_options_of_its_creation(
    spark: SparkSession, make_table: MakeTable
) -> None:
    table = make_table(SCHEMA)
    options = ", ".join(f"{name} '{value}'" for name, value in table.options.items())
    catalogued = f"{table.name}_catalogued"
    spark.sql(f"create table {catalogued} using pinot options ({options})")
    try:
        for statement in (f"select * from {catalogued}", f"insert into {catalogued} (id) values (1)"):
            with pytest.raises(PySparkException, match=r"(?s)option 'table' is missing.*TEMPORARY VIEW"):
                spark.sql(statement).collect()
    finally:
        spark.sql(f"drop table {catalogued}")
