"""Overwrites of a part of a table: a time range, or partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql.types import StructType

from controller_client.models import SegmentMetadata
from controller_client.zookeeper import PropertyStore
from tests.integration.spark_connectors.conftest import Connector, ConnectorError, MakeTable, SparkTable
from tests.support.cluster import PinotCluster

DAYS: dict[str, Any] = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}],
    "dateTimeFieldSpecs": [
        {"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    ],
}
OF_DAYS = StructType().add("id", "long").add("day", "integer")
# Pinot accepts times from 1971 to 2071.
BASE = 18_000


def time_range(first: int, end: int) -> dict[str, str]:
    return {
        "overwriteScope": "timeRange",
        "overwriteFrom": str(BASE + first),
        "overwriteTo": str(BASE + end),
    }


def days(first: int, end: int, rows: int) -> list[dict[str, int]]:
    """Return a number of rows for each day, counted from the base."""
    return [{"id": row, "day": BASE + row // rows} for row in range(first * rows, end * rows)]


def by_day(table: SparkTable) -> dict[int, int]:
    return dict(table.query(f"day - {BASE}, count(*)", f"group by day - {BASE} limit 1000"))


def test_a_range_of_times(connector: Connector, make_table: MakeTable) -> None:
    table = make_table(DAYS, time_column="day")
    connector.write(table.options, "append", OF_DAYS, days(0, 2, 5), days(2, 4, 5), days(4, 6, 5))
    before = set(table.segments())

    def overwrite(rows: list[dict[str, int]], first: int, end: int) -> None:
        connector.write(table.options, "overwrite", OF_DAYS, rows, **time_range(first, end))

    overwrite(days(2, 3, 7), 2, 4)
    assert by_day(table) == {0: 5, 1: 5, 2: 7, 4: 5, 5: 5}
    assert len(before & set(table.segments())) == 2

    now = table.segments()
    with pytest.raises(ConnectorError, match="rows from 18002 to 18004 are outside"):
        overwrite(days(2, 5, 1), 2, 4)
    with pytest.raises(ConnectorError, match=r"1 segments contain, or may contain.*18004 to 18005 DAYS"):
        overwrite(days(2, 5, 1), 2, 5)
    assert table.segments() == now
    # A range without rows gets its rows; a range whose rows are all replaced is empty afterwards.
    overwrite(days(9, 10, 3), 8, 10)
    overwrite([], 2, 4)
    assert by_day(table) == {0: 5, 1: 5, 4: 5, 5: 5, 9: 3}


COUNT = 4
PARTITIONED: dict[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "user", "dataType": "STRING"},
        {"name": "n", "dataType": "LONG"},
    ]
}
INDEXING = {
    "sortedColumn": ["n"],
    "segmentPartitionConfig": {
        "columnPartitionMap": {"user": {"functionName": "Murmur", "numPartitions": COUNT}}
    },
}
OF_USERS = StructType().add("user", "string").add("n", "long")


def users(ids: Iterable[int]) -> list[dict[str, Any]]:
    return [{"user": None if row % 100 == 7 else f"ü{row % 100}", "n": 399 - row} for row in ids]


def partitions(pinot: PinotCluster, table: SparkTable) -> dict[str, tuple[int, int]]:
    """Return the partition and the number of rows that Pinot recorded for each segment."""
    names = table.segments()
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        records = store.get_many([f"/SEGMENTS/{table.typed}/{name}" for name in names])
    found = {}
    for name, record in zip(names, records, strict=True):
        assert record is not None
        metadata = SegmentMetadata.from_json(record.record.simple_fields)
        assert metadata.partition_metadata is not None
        (partition,) = json.loads(metadata.partition_metadata)["columnPartitionMap"]["user"]["partitions"]
        found[name] = partition, int(metadata.total_docs or 0)
    return found


def test_partitions(connector: Connector, make_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_table(PARTITIONED, tableIndexConfig=INDEXING)
    connector.write(table.options, "append", OF_USERS, users(range(200)), users(range(200, 400)))
    found = partitions(pinot, table)
    # Each of the two tasks creates a segment for each partition.
    assert sorted(partition for partition, _ in found.values()) == sorted([*range(COUNT)] * 2)
    assert table.query("count(*), sum(n), count(distinct user)") == [(400, 79800.0, 100)]

    # Rows of only one partition according to Pinot: those of its segments.
    replaced = [name for name, (partition, _) in found.items() if partition == 2]
    kept = sum(rows for partition, rows in found.values() if partition != 2)
    (user,) = table.query("max(n)", f"where $segmentName = '{replaced[0]}'")[0]
    only = {"overwriteScope": "partitions", "overwritePartitions": "2"}
    connector.write(table.options, "overwrite", OF_USERS, users([399 - int(user)] * 5), **only)
    assert table.query("count(*)") == [(kept + 5,)]
    before = table.segments()
    assert set(found) - set(before) == set(replaced)
    with pytest.raises(ConnectorError, match=r"rows of partition \d, which is not one of the partitions"):
        connector.write(table.options, "overwrite", OF_USERS, users(range(100)), **only)
    assert table.segments() == before
