"""A hybrid table whose realtime part consumes: each row once, from the same part as brokers."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import Row, SparkSession

from controller_client.models import TableConfig
from tests.integration.spark_connectors.conftest import MakeTable
from tests.support.kafka import Kafka
from tests.support.realtime_tables import realtime_table
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

START_MS, DAY_MS = 1_700_000_000_000, 86_400_000
SCHEMA = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "INT"},
        {"name": "part", "dataType": "STRING"},
        {"name": "n", "dataType": "INT"},
    ],
    "dateTimeFieldSpecs": [
        {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:DAYS"}
    ],
}


def test_each_row_once(spark: SparkSession, make_table: MakeTable, kafka: Kafka) -> None:
    table = make_table(SCHEMA, time_column="ts")
    columns = ("int(id) id", "'offline' part", "if(id % 3 = 0, null, 1) n", f"{START_MS} + id * {DAY_MS} ts")
    table.write(spark.range(10).selectExpr(*columns), "append")
    messages = [
        {"id": n, "part": "realtime", "ts": START_MS + n * DAY_MS, **({} if n % 3 == 0 else {"n": 1})}
        for n in range(20)
    ]
    kafka.produce(table.name, map(json.dumps, messages))
    config = realtime_table(table.name, kafka)
    config["tableIndexConfig"]["nullHandlingEnabled"] = True
    table.client.tables.create(TableConfig.from_json(config))
    try:
        wait_for(lambda: table.query("count(*)") == [(20,)], "rows of both parts")
        # Brokers read rows older than the last day of the offline part from that part.
        expected = [
            Row(id=n, part="offline" if n < 9 else "realtime", n=None if n % 3 == 0 else 1) for n in range(20)
        ]
        for way in ("servers", "segments", "broker"):
            read = spark.read.format("pinot").options(**table.options, columns="id,part,n", readFrom=way)
            assert sorted(read.load().collect(), key=lambda row: row.id) == expected, way
            assert len({row.id for row in read.option("limit", "15").load().collect()}) == 15, way
        realtime = spark.read.format("pinot").options(**table.options, tableType="REALTIME").load()
        assert [row.part for row in realtime.collect()] == ["realtime"] * 20
    finally:
        table.client.tables.delete(f"{table.name}_REALTIME")
