"""An upsert table read with ``format("pinot")``: the rows of one version, with each way of reading."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.upsert.columns import SYSTEM_COLUMNS
from tests.integration.upsert.server.conftest import MakeUpsertTable, make_upsert_table
from tests.integration.upsert.server.upsert_table import UpsertTable

__all__ = ["make_upsert_table"]

_WAYS = ("servers", "broker", "query")


def test_the_rows_of_a_version(spark: SparkSession, make_upsert_table: MakeUpsertTable) -> None:
    table = make_upsert_table(rows_per_segment=30)
    for step in range(4):
        for partition in (0, 1):
            table.produce(partition, [f"k{(5 * step + 3 * partition + number) % 20}" for number in range(12)])
        version = table.model.coordinate()
        table.wait_checked(version)
    table.wait_sealed(2)
    table.wait_checked(table.model.coordinate())
    newest, everything = table.mark(), len(table.all_rows())
    assert len(table.model.visible[newest]) < len(table.model.visible[1]) + everything

    names = ["key", "part", "ts", "value"]
    for way in _WAYS:
        assert _rows(spark, table, way) == sorted(table.model.visible[newest]), way
        assert _rows(spark, table, way, filter="part = 1") == sorted(
            row for row in table.model.visible[newest] if row[0] == 1
        )
        assert _rows(spark, table, way, asOfVersion="1") == sorted(table.model.visible[1]), way
        assert _rows(spark, table, way, queryOptions="asOfVersion=1") == sorted(table.model.visible[1]), way
        assert _rows(spark, table, way, asOfTimestamp=str(2**42)) == sorted(table.model.visible[newest]), way
        assert len(_rows(spark, table, way, skipUpsert="true")) == everything, way
        with pytest.raises(PySparkException, match="not complete on all servers yet"):
            _rows(spark, table, way, asOfVersion="1000")

    read = spark.read.format("pinot").options(controller=table.pinot.controller_url, table=table.name)
    assert sorted(read.load().columns) == names
    assert read.load().count() == len(table.model.visible[newest])
    assert read.option("columns", ",".join(SYSTEM_COLUMNS)).load().columns == list(SYSTEM_COLUMNS)
    with pytest.raises(PySparkException, match="do not record which rows are replaced"):
        read.option("readFrom", "segments").load().count()


def _rows(spark: SparkSession, table: UpsertTable, way: str, **options: str) -> list[tuple[int, int]]:
    """Return partition and offset of the rows, sorted."""
    read = spark.read.format("pinot").options(controller=table.pinot.controller_url, table=table.name)
    if way == "query":
        condition = f"where {options.pop('filter')}" if "filter" in options else ""
        sql = f'select part, "$kafkaOffset" from {table.name} {condition} limit 100000'
        frame = read.options(query=sql, **options).load()
    else:
        frame = read.options(readFrom=way, columns="part,$kafkaOffset", **options).load()
    return sorted((row[0], row[1]) for row in frame.collect())
