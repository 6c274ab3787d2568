"""A hybrid table whose realtime part consumes: each row once, from the same part as brokers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql.types import StructType

from controller_client.models import TableConfig
from tests.integration.spark_connectors.conftest import Connector, MakeTable
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


def rows_of(part: str, days: int) -> list[dict[str, Any]]:
    """Return a row for each day, every third of them with a null."""
    rows = [{"id": n, "part": part, "ts": START_MS + n * DAY_MS} for n in range(days)]
    return [row if n % 3 == 0 else {**row, "n": 1} for n, row in enumerate(rows)]


def test_each_row_once(connector: Connector, make_table: MakeTable, kafka: Kafka) -> None:
    table = make_table(SCHEMA, time_column="ts")
    columns = StructType().add("id", "integer").add("part", "string").add("n", "integer").add("ts", "long")
    connector.write(table.options, "append", columns, rows_of("offline", 10))
    kafka.produce(table.name, map(json.dumps, rows_of("realtime", 20)))
    config = realtime_table(table.name, kafka)
    config["tableIndexConfig"]["nullHandlingEnabled"] = True
    table.client.tables.create(TableConfig.from_json(config))
    wait_for(lambda: table.query("count(*)") == [(20,)], "rows of both parts")
    # Brokers read rows older than the last day of the offline part from that part.
    expected = [
        {"id": n, "part": "offline" if n < 9 else "realtime", "n": None if n % 3 == 0 else 1}
        for n in range(20)
    ]
    for way in ("servers", "segments", "broker"):
        three = {"columns": "id,part,n", "readFrom": way}
        rows = connector.read(table.options, **three)
        assert sorted(rows, key=lambda row: int(row["id"])) == expected, way
        assert len({row["id"] for row in connector.read(table.options, limit="15", **three)}) == 15, way
    realtime = connector.read(table.options, tableType="REALTIME")
    assert [row["part"] for row in realtime] == ["realtime"] * 20
