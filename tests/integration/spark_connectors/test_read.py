"""Pinot tables read with ``format("pinot")``: from servers, from segments' tar files and through a broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition
from pyspark.sql.types import StructType

from controller_client.models import Schema
from controller_client.rest.capabilities import Capability
from tests.integration.spark_connectors.conftest import Connector, ConnectorError, MakeTable, SparkTable
from tests.support.needs import has
from tests.support.tiers import FULL

WAYS = ("servers", "segments", "broker")
SCHEMA: dict[str, Any] = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}, {"name": "n", "dataType": "INT"}],
    "metricFieldSpecs": [{"name": "x", "dataType": "DOUBLE"}],
}
WITH_ONE_MORE = {
    **SCHEMA,
    "metricFieldSpecs": [
        {"name": "x", "dataType": "DOUBLE"},
        {"name": "later", "dataType": "INT", "defaultNullValue": 7},
    ],
}
COLUMNS = StructType().add("id", "long").add("n", "integer").add("x", "double")


def rows_of(ids: range) -> list[dict[str, Any]]:
    return [{"id": row, "n": None if row % 10 == 0 else row, "x": row * 0.5} for row in ids]


@pytest.fixture
def table(connector: Connector, make_table: MakeTable) -> SparkTable:
    """Four segments of 250 rows."""
    made = make_table(SCHEMA)
    halves = (rows_of(range(500)), rows_of(range(500, 1000)))
    connector.write(made.options, "append", COLUMNS, *halves, maxNumRecordsPerSegment="250")
    return made


def test_filter_columns_limit_and_schema(connector: Connector, table: SparkTable) -> None:
    for way in WAYS:
        two = {"columns": "x,n,id", "filter": "id between 29 and 30 -- two", "nullHandling": "false"}
        some = connector.read(table.options, readFrom=way, **two)
        assert sorted(some, key=lambda row: row["id"]) == [
            {"x": 14.5, "n": 29, "id": 29},
            {"x": 15.0, "n": -(2**31), "id": 30},
        ], way
        assert [*some[0]] == ["x", "n", "id"]
        asked = StructType().add("n", "long").add("id", "long")
        nulls = connector.read(table.options, asked, readFrom=way, filter="n is null")
        assert sorted(row["id"] for row in nulls) == [*range(0, 1000, 10)], way
        assert {row["n"] for row in nulls} == {None}
        settings = "maxExecutionThreads=1,skipUpsert=true"
        first = connector.read(table.options, readFrom=way, limit="300", queryOptions=settings)
        assert len({row["id"] for row in first}) == len(first) == 300, way
        with pytest.raises(ConnectorError, match="nowhere"):
            connector.read(table.options, readFrom=way, filter="nowhere = 1")


def test_queries_and_what_does_not_fit(connector: Connector, table: SparkTable) -> None:
    last = f"select id, n, x from {table.name} where id > 998 limit 10"
    asked = StructType().add("x", "double").add("id", "long")
    assert connector.read(table.options, asked, query=last) == [{"x": 499.5, "id": 999}]
    with pytest.raises(ConnectorError, match="no LIMIT"):
        connector.read(table.options, query=f"select id from {table.name}")
    with pytest.raises(ConnectorError, match="no column y"):
        connector.read(table.options, StructType().add("y", "integer"))
    with pytest.raises(ConnectorError, match="id: string, but the column is read as bigint"):
        connector.read(table.options, StructType().add("id", "string"))


def test_an_empty_table_and_a_later_column(connector: Connector, make_table: MakeTable) -> None:
    table = make_table(SCHEMA)
    assert connector.read(table.options) == []
    connector.write(table.options, "append", COLUMNS, rows_of(range(9)))
    connector.write(table.options, "overwrite", COLUMNS, rows_of(range(5)))
    for way in WAYS:
        assert sorted(row["id"] for row in connector.read(table.options, readFrom=way)) == [0, 1, 2, 3, 4], (
            way
        )
    table.client.schemas.update(Schema.from_json({"schemaName": table.name, **WITH_ONE_MORE}))
    ways = ["segments"]
    if has(Capability.MISSING_COLUMNS_AS_DEFAULT):
        ways.append("servers")
    else:
        with pytest.raises(ConnectorError, match="reload the table's segments"):
            connector.read(table.options)
    for way in ways:
        later = connector.read(table.options, readFrom=way, columns="id,later")
        assert {row["id"]: row["later"] for row in later} == dict.fromkeys(range(5), 7), way
    connector.write(table.options, "overwrite", COLUMNS, [], maxMissingColumns="1")
    for way in WAYS:
        assert connector.read(table.options, readFrom=way) == [], way


def test_reads_with_spark(spark: SparkSession, connector: Connector, table: SparkTable) -> None:
    # More than fit a batch of Spark, each of which must have the same types.
    connector.write(table.options, "append", COLUMNS, rows_of(range(1000, 12_000)))
    everything = spark.read.format("pinot").options(**table.options).load()
    assert everything.columns == ["id", "n", "x"]
    found = sorted(everything.collect(), key=lambda row: int(row.id))
    assert found == [Row(**row) for row in rows_of(range(12_000))]
    reader = spark.read.format("pinot").options(**table.options, segmentsPerSplit="1")
    nulls = reader.schema("n bigint, id bigint").option("filter", "n is null").load()
    assert nulls.rdd.getNumPartitions() == 5
    assert sorted(nulls.collect()) == [Row(n=None, id=row) for row in range(0, 12_000, 10)]
    query = f"select count(*) as c, sum(x) total, max(id) from {table.name}"
    totals = spark.read.format("pinot").options(**table.options, query=query).load()
    assert totals.dtypes == [("c", "bigint"), ("total", "double"), ("max(id)", "double")]
    assert [tuple(row) for row in totals.collect()] == [(12_000, 35_997_000.0, 11_999.0)]
    # A temporary view keeps its options.
    options = ", ".join(f"{name} '{value}'" for name, value in table.options.items())
    spark.sql(f"create temporary view {table.name}_view using pinot options ({options})")
    counted = f"select count(*), max(x) from {table.name}_view where id < 3 or n = 998"
    assert spark.sql(counted).collect() == [(4, 499.0)]


def test_secrets_are_in_no_error(spark: SparkSession) -> None:
    ask = spark.read.format("pinot").options(
        controller="http://127.0.0.1:9", table="t", username="u", password="very-secret"
    )
    with pytest.raises(PySparkException) as caught:
        ask.load()
    assert "very-secret" not in str(caught.value)
    assert "127.0.0.1:9" in str(caught.value)


_PUSHING = "spark.sql.python.filterPushdown.enabled"


@FULL
def test_spark_still_mixes_up_filters(spark: SparkSession) -> None:
    """If this fails, Spark is fixed, and ``usePushDownFilters`` can be allowed from that version on."""

    class Reader(DataSourceReader):
        wanted: object = None

        def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
            for each in filters:
                if isinstance(each, EqualTo):
                    self.wanted = each.value
                else:
                    yield each

        def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
            return iter([(n,) for n in range(5) if self.wanted in (None, n)])

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "five_rows"

        def schema(self) -> str:
            return "id int"

        def reader(self, schema: StructType) -> DataSourceReader:
            return Reader()

    spark.dataSource.register(Source)
    spark.conf.set(_PUSHING, "true")
    try:
        frame = spark.read.format("five_rows").load()
        assert frame.filter("id = 2").count() == 1
        assert frame.count() == 1, "Spark returns all five rows: filters no longer leak"
    finally:
        spark.conf.unset(_PUSHING)


@FULL
def test_filters_of_one_dataframe_are_not_mixed(spark: SparkSession, table: SparkTable) -> None:
    """Up to PySpark 4.3, pushed filters leak into other queries, even if Spark's setting allows them."""
    frame = spark.read.format("pinot").options(**table.options).load()
    for pushing in ("true", "false"):
        spark.conf.set(_PUSHING, pushing)
        try:
            two = frame.filter("id = 1").union(frame.filter("id = 2"))
            assert [row.id for row in two.collect()] == [1, 2]
            assert frame.count() == 1000
        finally:
            spark.conf.unset(_PUSHING)
