"""DataFrames written with ``format("pinot")``, and what queries see afterwards."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinot_airflow.conditions.writes import WriteIsPublished
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.plan import WritePlan
from tests.integration.spark_connectors.conftest import MakeTable, SparkTable
from tests.support.cluster import PinotCluster

SCHEMA = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "LONG"},
        {"name": "name", "dataType": "STRING"},
        {"name": "tags", "dataType": "STRING", "singleValueField": False},
    ],
    "metricFieldSpecs": [{"name": "x", "dataType": "DOUBLE"}],
}


def test_append_then_overwrite_then_nothing(
    spark: SparkSession, make_table: MakeTable, tmp_path: Path
) -> None:
    table, report_path = make_table(SCHEMA), tmp_path / "report.json"
    frame = spark.range(0, 1000, 1, 2).selectExpr(
        "id", "concat('ü', id % 7) name", "array('a', concat('t', id % 3)) tags", "id * 0.5D x"
    )
    table.write(frame, "append")
    # Each query runs right after the write: brokers must see the new segments and no longer the old ones.
    seen = "count(*), sum(x), max(id), distinctcountmv(tags)"
    assert table.query(seen) == [(1000, 249750.0, 999, 4)]
    table.write(frame, "append", maxNumRecordsPerSegment="300", reportPath=str(report_path))
    assert table.query(seen) == [(2000, 499500.0, 999, 4)]
    assert len(table.segments()) == 2 + 4
    report = json.loads(report_path.read_text())
    assert (report["outcome"], report["rows"], report["segments"]) == ("written", 1000, 4)
    assert [task["rows"] for task in report["tasks"]] == [500, 500]
    assert {name for task in report["tasks"] for name in task["segments"]} <= set(table.segments())
    assert report["bytes"] > 0
    assert min(report["build_s"], report["upload_s"], report["commit_s"]) > 0
    assert list(tmp_path.iterdir()) == [report_path]
    table.write(frame.where("id < 10"), "overwrite", reportPath=str(report_path))
    assert table.query("count(*), sum(x)") == [(10, 22.5)]
    report = json.loads(report_path.read_text())
    assert (report["replaced_segments"], report["servers_behind"]) == (6, {})
    # Without rows there is no segment, unless something must be replaced.
    segments = table.segments()
    table.write(frame.where("id < 0"), "append")
    assert table.segments() == segments
    table.write(frame.where("id < 0"), "overwrite")
    assert table.query("count(*)") == [(0,)]


def test_writes_with_the_same_id_are_applied_once(spark: SparkSession, make_table: MakeTable) -> None:
    table = make_table(SCHEMA)
    ten, seven = (spark.range(0, rows, 1, 1).selectExpr("id", "id * 1D x") for rows in (10, 7))
    table.write(ten, "append", writeId="first: any text, ü")
    table.write(ten, "append", writeId="first: any text, ü")
    table.write(ten, "append", writeId="second")
    assert table.query("count(*)") == [(20,)]
    with PinotAccess(ClusterAddress(table.client.config)) as access:
        looks = [WriteIsPublished(table.name, each).look(access).done for each in ("second", "third")]
    assert looks == [True, False]
    table.write(seven, "overwrite", writeId="third")
    # The segments of the first write no longer exist.
    for mode in ("append", "overwrite"):
        table.write(ten, mode, writeId="first: any text, ü")
    table.write(ten, "overwrite", writeId="third")
    assert table.query("count(*)") == [(7,)]


def test_a_table_is_created_from_the_dataframe_once(
    spark: SparkSession, pinot: PinotCluster, client: ControllerClient
) -> None:
    name = f"sp_{uuid.uuid4().hex[:12]}"
    frame = spark.range(0, 6, 1, 2).selectExpr(
        *("id", "cast(id as int) small", "id * 0.5D x", "cast(id as decimal(9,2)) price"),
        *("concat('n', id) name", "nullif(id, 3) maybe", "array(id, id + 1) many"),
        *("timestamp_seconds(1577836800 + id) ts", "map('k', id) doc", "id > 2 big"),
    )
    with BrokerClient([pinot.broker_url]) as broker:
        table = SparkTable(name, pinot, client, broker)
        with pytest.raises(PySparkException, match=r"(?s)there is no table.*set 'createTable'"):
            table.write(frame, "append")
        with pytest.raises(PySparkException, match="did you mean 'name'"):
            table.write(frame, "append", createTable="true", invertedIndexColumns="nam")
        with pytest.raises(PySparkException, match="'timeColumnName' id has the type bigint"):
            table.write(frame, "append", createTable="true", timeColumnName="id")
        assert not client.tables.exists(name)
        options = {
            **table.options,
            "createTable": "true",
            "timeColumnName": "ts",
            "replication": "2",
            "invertedIndexColumns": "name, small",
            "noDictionaryColumns": "x",
            "bloomFilterColumns": "id",
            "rangeIndexColumns": "small",
            "sortedColumn": "id",
        }

        def plan(_: int) -> WritePlan:
            return WritePlan.make(parse_options(WriteOptions, options), frame.schema, overwrite=False)

        try:
            with ThreadPoolExecutor(4) as pool:
                assert {made.table for made in pool.map(plan, range(4))} == {table.typed}
            for _ in range(2):
                frame.write.format("pinot").mode("append").options(**options).save()
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
                (12, 15.0, 30.0, 1577836805000.0, 24)
            ]
            assert table.query("count(*)", "where maybe is null") == [(2,)]
        finally:
            client.tables.delete(table.typed)
            client.schemas.delete(name)


def test_errors_before_the_job_starts(spark: SparkSession, make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table(SCHEMA)
    frame = spark.range(3).selectExpr("id", "id Name", "current_date() x")
    columns_message = (
        r"(?s)Name: the table has no such column, did you mean 'name'.*x: date cannot be stored as DOUBLE"
    )
    for options, message in (
        ({}, columns_message),
        ({"table": f"{table.name}_REALTIME"}, "is a REALTIME table"),
        ({"segmentRows": "3"}, "unknown option 'segmentrows'"),
        (
            {"reportPath": str(tmp_path / "missing" / "report.json")},
            "the folder of 'reportPath' does not exist",
        ),
        ({"overwriteScope": "timeRange", "overwriteFrom": "1", "overwriteTo": "2"}, "no time column"),
    ):
        columns = frame.select("id") if options else frame
        writer = columns.write.format("pinot").mode("overwrite").options(**{**table.options, **options})
        with pytest.raises(PySparkException, match=message):
            writer.save()
    # Including Spark's default mode.
    for refused in (
        frame.select("id").write,
        frame.select("id").write.mode("ignore"),
        frame.select("id").write.mode("append").partitionBy("id"),
    ):
        with pytest.raises(PySparkException, match=r"UNSUPPORTED_DATA_SOURCE_SAVE_MODE|[Pp]artition"):
            refused.format("pinot").options(**table.options).save()
    assert table.segments() == []


def test_sql(spark: SparkSession, make_table: MakeTable) -> None:
    """A temporary view keeps its options; those of a catalog table are only passed to CREATE TABLE."""
    table = make_table(SCHEMA)
    table.write(spark.range(7).selectExpr("id", "concat('n', id) name"), "append")
    options = ", ".join(f"{name} '{value}'" for name, value in table.options.items())
    view, catalogued = f"{table.name}_view", f"{table.name}_catalogued"
    spark.sql(f"create temporary view {view} using pinot options ({options})")
    assert spark.sql(f"select count(*), max(name) from {view} where id < 3").collect() == [(3, "n2")]
    spark.sql(f"drop view {view}")
    spark.sql(f"create table {catalogued} using pinot options ({options})")
    try:
        for statement in (f"select * from {catalogued}", f"insert into {catalogued} (id) values (1)"):
            with pytest.raises(PySparkException, match=r"(?s)option 'table' is missing.*TEMPORARY VIEW"):
                spark.sql(statement).collect()
    finally:
        spark.sql(f"drop table {catalogued}")
