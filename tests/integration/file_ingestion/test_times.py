"""Times of rows and segments: what retention deletes, and rows without a time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests

from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

_STEP_S = 300
_DAY_S = 86_400


def _create(table: IngestionTable, data_type: str, time_format: str, **config: Any) -> None:
    field = {"name": "ts", "dataType": data_type, "format": time_format, "granularity": "1:DAYS"}
    schema = {
        "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}],
        "dateTimeFieldSpecs": [field],
    }
    segments = offline_table(table.name, time_column="ts")["segmentsConfig"]
    # Retention deletes nothing in a table without this type.
    retention = {"retentionTimeUnit": "DAYS", "retentionTimeValue": "30", "segmentPushType": "APPEND"}
    table.create(schema, segmentsConfig={**segments, **retention}, **config)


def test_retention_deletes_only_old_segments_of_five_minute_steps(
    ingestion_table: IngestionTable, shared_folder: Path, pinot: PinotCluster
) -> None:
    table, now_s = ingestion_table, int(time.time())
    _create(table, "LONG", "5:MINUTES:EPOCH")
    for name, age_days in (("new", 1), ("old", 90)):
        step = (now_s - age_days * _DAY_S) // _STEP_S
        (shared_folder / f"{name}.csv").write_text(f"id,ts\n{age_days},{step}\n")
    assert table.register(shared_folder, "csv", enableSync="true").run().report["rows"] == 2
    starts = [table.client.segments.metadata(table.with_type, name).start_time for name in table.segments()]
    assert sorted(filter(None, starts)) == [
        (now_s - days * _DAY_S) // _STEP_S * _STEP_S * 1000 for days in (90, 1)
    ]
    asked = {"taskname": "RetentionManager", "tableName": table.name, "type": "OFFLINE"}
    requests.get(f"{pinot.controller_url}/periodictask/run", params=asked, timeout=60).raise_for_status()
    wait_for(lambda: len(table.segments()) == 1, "retention to delete the old segment")
    wait_for(lambda: table.value("select max(id) from {t}") == 1, "brokers to know of it", times=4)
    assert table.value(f"select count(*) from {{t}} where ts >= {(now_s - 2 * _DAY_S) // _STEP_S}") == 1


def test_rows_and_files_without_a_time_are_rejected(
    ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    table = ingestion_table
    _create(
        table, "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd", ingestionConfig={"continueOnError": True}
    )
    (shared_folder / "a.csv").write_text("id,ts\n1,2024-01-01\n2,notadate\n3,2024-01-01\n")
    failed = table.register(shared_folder, "csv").run().failed
    assert "a.csv, row 2, field ts: found 'notadate'" in failed
    by_day = shared_folder / "days" / "ts=2024-01-01"
    by_day.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), by_day / "part-0.parquet")
    failed = table.register(by_day.parent, "parquet", hivePartitioning="false").run().failed
    assert "part-0.parquet lacks the time column 'ts'" in failed
    assert table.segments() == []
    # The name of the folder is a time.
    assert table.register(by_day.parent, "parquet").run().report["rows"] == 1
    wait_for(lambda: table.value("select count(*) from {t}") == 1, "the row", times=4)
    assert table.value("select ts from {t} limit 1") == "2024-01-01"
