"""Why filters are not pushed down by Spark: up to PySpark 4.3 they leak into other queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition
from pyspark.sql.types import StructType

from tests.integration.spark_connectors.conftest import MakeTable

_CONF = "spark.sql.python.filterPushdown.enabled"


def test_spark_still_mixes_up_filters(spark: SparkSession) -> None:
    """If this fails, Spark is fixed, and ``usePushDownFilters`` can be allowed from that version on."""

    class Reader(DataSourceReader):
        def __init__(self) -> None:
            self.wanted: object = None

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
    spark.conf.set(_CONF, "true")
    try:
        frame = spark.read.format("five_rows").load()
        assert frame.filter("id = 2").count() == 1
        assert frame.count() == 1, "Spark returns all five rows: filters no longer leak"
    finally:
        spark.conf.unset(_CONF)


def test_filters_of_one_dataframe_are_not_mixed(spark: SparkSession, make_table: MakeTable) -> None:
    """Even if Spark's setting allows sources to push filters down."""
    table = make_table({"dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}]})
    table.write(spark.range(5), "append")
    frame = spark.read.format("pinot").options(**table.options).load()
    for pushing in ("true", "false"):
        spark.conf.set(_CONF, pushing)
        try:
            two = frame.filter("id = 1").union(frame.filter("id = 2"))
            assert [row.id for row in two.collect()] == [1, 2]
            assert frame.count() == 5
        finally:
            spark.conf.unset(_CONF)


def test_the_option_is_rejected(spark: SparkSession) -> None:
    read = spark.read.format("pinot").options(controller="localhost:9", table="t", usePushDownFilters="true")
    with pytest.raises(PySparkException, match="pass the predicate in the option 'filter'"):
        read.load()
