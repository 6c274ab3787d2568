"""Overwrites of a part of a table: a time range, or partitions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from controller_client.models import SegmentMetadata
from controller_client.zookeeper import PropertyStore
from spark_connectors import prepare_for_pinot
from tests.integration.spark_connectors.conftest import MakeTable, SparkTable
from tests.support.cluster import PinotCluster

DAYS: dict[str, Any] = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}],
    "dateTimeFieldSpecs": [
        {"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    ],
}


# Pinot accepts times from 1971 to 2071.
BASE = 18_000


def time_range(first: int, end: int) -> dict[str, str]:
    return {
        "overwriteScope": "timeRange",
        "overwriteFrom": str(BASE + first),
        "overwriteTo": str(BASE + end),
    }


def days(spark: SparkSession, first: int, end: int, rows: int) -> DataFrame:
    """Return a number of rows for each day, counted from the base, in one Spark partition."""
    return spark.range(first * rows, end * rows, 1, 1).selectExpr(
        "id", f"date_from_unix_date(cast({BASE} + id div {rows} as int)) day"
    )


def by_day(table: SparkTable) -> dict[int, int]:
    return dict(table.query(f"day - {BASE}, count(*)", f"group by day - {BASE} limit 1000"))


def test_a_range_of_times(spark: SparkSession, make_table: MakeTable) -> None:
    table = make_table(DAYS, time_column="day")
    for first, end in ((0, 2), (2, 4), (4, 6)):
        table.write(days(spark, first, end, 5), "append")
    before = set(table.segments())
    part = time_range(2, 4)
    table.write(days(spark, 2, 3, 7), "overwrite", **part)
    assert by_day(table) == {0: 5, 1: 5, 2: 7, 4: 5, 5: 5}
    assert len(before & set(table.segments())) == 2

    now = table.segments()
    with pytest.raises(PySparkException, match="rows from 18002 to 18004 are outside"):
        table.write(days(spark, 2, 5, 1), "overwrite", **part)
    with pytest.raises(PySparkException, match=r"1 segments contain, or may contain.*18004 to 18005 DAYS"):
        table.write(days(spark, 2, 5, 1), "overwrite", **time_range(2, 5))
    assert table.segments() == now
    # A range without rows gets its rows; a range whose rows are all replaced is empty afterwards.
    table.write(days(spark, 9, 10, 3), "overwrite", **time_range(8, 10))
    table.write(days(spark, 2, 2, 1), "overwrite", **part)
    assert by_day(table) == {0: 5, 1: 5, 4: 5, 5: 5, 9: 3}


PARTITIONED: dict[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "user", "dataType": "STRING"},
        {"name": "n", "dataType": "LONG"},
    ]
}
COUNT = 4


def partitions(pinot: PinotCluster, table: SparkTable) -> dict[str, tuple[frozenset[int], int]]:
    """Return the partitions and the number of rows that Pinot recorded for each segment."""
    names = table.segments()
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        records = store.get_many([f"/SEGMENTS/{table.typed}/{name}" for name in names])
    found = {}
    for name, record in zip(names, records, strict=True):
        assert record is not None
        metadata = SegmentMetadata.from_json(record.record.simple_fields)
        assert metadata.partition_metadata is not None
        column = json.loads(metadata.partition_metadata)["columnPartitionMap"]["user"]
        found[name] = (frozenset(column["partitions"]), int(metadata.total_docs or 0))
    return found


def test_partitions(spark: SparkSession, make_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_table(
        PARTITIONED,
        tableIndexConfig={
            "sortedColumn": ["n"],
            "segmentPartitionConfig": {
                "columnPartitionMap": {"user": {"functionName": "Murmur", "numPartitions": COUNT}}
            },
        },
    )
    frame = spark.range(0, 400, 1, 2).selectExpr("nullif(concat('ü', id % 100), 'ü7') user", "399 - id n")
    table.write(frame, "append")
    found = partitions(pinot, table)
    # Each of the two tasks creates a segment for each partition.
    assert sorted(next(iter(ids)) for ids, _ in found.values()) == sorted([*range(COUNT)] * 2)
    assert {len(ids) for ids, _ in found.values()} == {1}
    assert table.query("count(*), sum(n), count(distinct user)") == [(400, 79800.0, 100)]

    table.write(prepare_for_pinot(frame, **table.options), "overwrite")
    found = partitions(pinot, table)
    assert sorted(ids for ids, _ in found.values()) == [frozenset({each}) for each in range(COUNT)]
    rows = {next(iter(ids)): count for ids, count in found.values()}
    assert sum(rows.values()) == 400

    # Rows of only one partition according to Pinot: those of its segment.
    segment = next(name for name, (ids, _) in found.items() if ids == {2})
    users = {user for (user,) in table.query("distinct user", f"where $segmentName = '{segment}' limit 1000")}
    own = frame.where(frame.user.isin(sorted(users - {"null"})))
    only = {"overwriteScope": "partitions", "overwritePartitions": "2"}
    table.write(own.limit(5), "overwrite", **only)
    assert table.query("count(*)") == [(400 - rows[2] + 5,)]
    assert len(set(found) & set(table.segments())) == COUNT - 1
    before = table.segments()
    with pytest.raises(PySparkException, match=r"rows of partition \d, which is not one of the partitions"):
        table.write(frame, "overwrite", **only)
    assert table.segments() == before
