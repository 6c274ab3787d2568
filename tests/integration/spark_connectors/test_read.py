"""Pinot tables read with ``format("pinot")``: from servers, from segments' tar files and through a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from controller_client.models import Schema
from controller_client.rest.capabilities import Capability
from tests.integration.spark_connectors.conftest import MakeTable, SparkTable
from tests.support.needs import has

WAYS = ("servers", "segments", "broker")
TYPES = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "LONG"},
        {"name": "i", "dataType": "INT"},
        {"name": "s", "dataType": "STRING"},
        {"name": "flag", "dataType": "BOOLEAN"},
        {"name": "raw", "dataType": "BYTES"},
        {"name": "doc", "dataType": "JSON"},
        {"name": "ints", "dataType": "INT", "singleValueField": False},
        {"name": "longs", "dataType": "LONG", "singleValueField": False},
        {"name": "floats", "dataType": "FLOAT", "singleValueField": False},
        {"name": "doubles", "dataType": "DOUBLE", "singleValueField": False},
        {"name": "words", "dataType": "STRING", "singleValueField": False},
    ],
    "metricFieldSpecs": [
        {"name": "f", "dataType": "FLOAT"},
        {"name": "d", "dataType": "DOUBLE"},
        {"name": "big", "dataType": "BIG_DECIMAL"},
    ],
    "dateTimeFieldSpecs": [
        {"name": "at", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:MILLISECONDS"}
    ],
}
# Every column has its own nulls, including the first row after 10,000 rows, which is Pinot's block size.
VALUES = {
    "i": ("cast(id - 6000 as int)", 7),
    "s": ("concat('ü ', id % 13)", 11),
    "flag": ("id % 2 = 0", 3),
    "raw": ("cast(concat('b', id % 5) as binary)", 19),
    "doc": ("""concat('{"k":', id % 4, '}')""", 23),
    "big": ("cast(cast(id as decimal(20,3)) / 7 as decimal(38,18))", 29),
    "ints": ("array(cast(id % 3 as int), cast(-id as int))", 31),
    "longs": ("transform(sequence(1, id % 4 + 1), x -> x * id)", 37),
    "floats": ("array(cast(id / 4D as float))", 41),
    "doubles": ("array(id / 3D, -id * 1D, double('Infinity'))", 43),
    "words": ("array('a', concat('w', id % 6))", 47),
    "f": ("cast(id / 7D as float)", 53),
    "d": ("id / 9D", 59),
    "at": ("timestamp_millis(1700000000123 + id * 1001)", 61),
}
NAMES = ("id", *VALUES)


def frame_of(spark: SparkSession, rows: int, tasks: int) -> DataFrame:
    columns = [f"if(id % {step} = 0, null, {value}) {name}" for name, (value, step) in VALUES.items()]
    return spark.range(0, rows, 1, tasks).selectExpr("id", *columns)


def read(spark: SparkSession, table: SparkTable, *, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("pinot").options(**table.options, **options)
    return (reader.schema(schema) if schema else reader).load()


def in_order(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=lambda row: row.id)


def at_once(check: Callable[[str], None], ways: Sequence[str] = WAYS) -> None:
    """Check several ways of reading in parallel."""
    with ThreadPoolExecutor(len(ways)) as pool:
        for _ in pool.map(check, ways):
            pass


def comparable(row: Row) -> Mapping[str, Any]:
    """Normalize BIG_DECIMAL, which is read as text: 1.50 equals 1.5."""
    values = row.asDict()
    return {**values, "big": None if values["big"] is None else Decimal(values["big"])}


@pytest.fixture
def far_from_utc(spark: SparkSession) -> Iterator[None]:
    """Use a session time zone other than UTC: timestamps are the same instants in every zone."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.usefixtures("far_from_utc")
def test_all_types_are_read_back_value_by_value(spark: SparkSession, make_table: MakeTable) -> None:
    """Reads more rows than fit a batch of Spark, each of which must have the same types."""
    table = make_table(TYPES)
    frame = frame_of(spark, 12_000, 1).select(*NAMES)
    table.write(frame, "append")
    assert table.query("max(at)") == [(1_700_000_000_123 + 11_999 * 1001,)]
    expected = [comparable(row) for row in in_order(frame)]

    def check(way: str) -> None:
        found = read(spark, table, readFrom=way)
        assert dict(found.dtypes) == {**dict(frame.dtypes), "big": "string"}, way
        rows = [comparable(row) for row in in_order(found.select(*NAMES))]
        wrong = [(a, b) for a, b in zip(expected, rows, strict=True) if a != b]
        assert not wrong, (way, len(wrong), wrong[:3])

    at_once(check)
    exact = read(spark, table, columns="id,big", decimalType="decimal(38,18)")
    assert exact.dtypes == [("id", "bigint"), ("big", "decimal(38,18)")]
    assert in_order(exact) == in_order(frame.select("id", "big"))


SMALL = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}, {"name": "n", "dataType": "INT"}],
    "metricFieldSpecs": [{"name": "x", "dataType": "DOUBLE"}],
}
WITH_ONE_MORE = {
    **SMALL,
    "metricFieldSpecs": [
        {"name": "x", "dataType": "DOUBLE"},
        {"name": "later", "dataType": "INT", "defaultNullValue": 7},
    ],
}


def test_filter_columns_limit_schema_and_query(
    spark: SparkSession, make_table: MakeTable, full: bool
) -> None:
    table = make_table(SMALL)
    empty = read(spark, table)
    assert empty.columns == ["id", "n", "x"]
    assert empty.collect() == []
    frame = spark.range(0, 1000, 1, 2).selectExpr("id", "if(id % 10 = 0, null, int(id)) n", "id * 0.5D x")
    table.write(frame, "append", maxNumRecordsPerSegment="250")
    assert read(spark, table, segmentsPerSplit="1").rdd.getNumPartitions() == 4

    def check(way: str) -> None:
        two = {"columns": "x,n,id", "filter": "id between 29 and 30 -- two", "nullHandling": "false"}
        some = read(spark, table, readFrom=way, **two)
        assert in_order(some) == [Row(x=14.5, n=29, id=29), Row(x=15.0, n=-(2**31), id=30)], way
        nulls = read(spark, table, readFrom=way, schema="n bigint, id bigint", filter="n is null")
        assert in_order(nulls) == [Row(n=None, id=each) for each in range(0, 1000, 10)], way
        settings = "maxExecutionThreads=1,skipUpsert=true"
        first = read(spark, table, readFrom=way, limit="300", queryOptions=settings).collect()
        assert len({row.id for row in first}) == 300, way
        with pytest.raises(PySparkException, match="nowhere"):
            read(spark, table, readFrom=way, filter="nowhere = 1").collect()

    at_once(check, WAYS if full else ("segments",))
    totals = read(spark, table, query=f"select count(*) as c, sum(x) total, max(id) from {table.name}")
    assert totals.dtypes == [("c", "bigint"), ("total", "double"), ("max(id)", "double")]
    assert [tuple(row) for row in totals.collect()] == [(1000, 249750.0, 999.0)]
    last = f"select id, n, x from {table.name} where id > 995 limit 10"
    assert read(spark, table, query=last, schema="x double, id bigint").where("id = 999").collect() == [
        Row(x=499.5, id=999)
    ]
    with pytest.raises(PySparkException, match="no LIMIT"):
        read(spark, table, query=f"select id from {table.name}").collect()
    with pytest.raises(PySparkException, match="no column y"):
        read(spark, table, schema="y int").collect()
    with pytest.raises(PySparkException, match="id: string, but the column is read as bigint"):
        read(spark, table, schema="id string").collect()
    table.write(frame.where("id < 5"), "overwrite")
    for way in ("servers", "segments") if full else ("servers",):
        assert [row.id for row in in_order(read(spark, table, readFrom=way))] == [0, 1, 2, 3, 4], way
    table.client.schemas.update(Schema.from_json({"schemaName": table.name, **WITH_ONE_MORE}))
    ways = ["segments"]
    if has(Capability.MISSING_COLUMNS_AS_DEFAULT):
        ways.append("servers")
    else:
        with pytest.raises(PySparkException, match="reload the table's segments"):
            read(spark, table).collect()
    for way in ways:
        later = read(spark, table, readFrom=way, columns="id,later")
        assert in_order(later) == [Row(id=n, later=7) for n in range(5)], way
    table.write(frame.where("id < 0").selectExpr("id", "n", "x"), "overwrite")

    def check_empty(way: str) -> None:
        assert read(spark, table, readFrom=way).collect() == [], way

    at_once(check_empty, WAYS if full else ("servers",))


def test_secrets_are_in_no_error(spark: SparkSession) -> None:
    ask = spark.read.format("pinot").options(
        controller="http://127.0.0.1:9", table="t", username="u", password="very-secret"
    )
    with pytest.raises(PySparkException) as caught:
        ask.load()
    assert "very-secret" not in str(caught.value)
    assert "127.0.0.1:9" in str(caught.value)
