"""A small offline table with three segments, each with rows of a different age."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.support.segments import build_segments

__all__ = ["AGES_DAYS", "ROWS", "segment_tars", "table_documents"]

AGES_DAYS = (1, 400, 800)
"""Age of the rows of each segment."""

ROWS = 20
"""Number of rows in a segment."""

_DAY_MS = 86_400_000


def table_documents(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the config and the schema of the table."""
    return _table(name), _schema(name)


def segment_tars(folder: Path) -> list[Path]:
    """Build the segments ``s0``, ``s1``, ``s2`` in a child process; they fit any table of this kind."""
    now_ms = round(time.time() * 1000)
    rows = {
        f"s{number}": [
            {
                "city": f"c{(row * 7) % ROWS}",
                "words": f"some word{row}",
                "doc": json.dumps({"a": row}),
                "code": row % 5,
                "n": (row * 7) % ROWS,  # unsorted: a sorted column keeps its dictionary
                "ts": now_ms - days * _DAY_MS,
            }
            for row in range(ROWS)
        ]
        for number, days in enumerate(AGES_DAYS)
    }
    config, schema = table_documents("built")
    return [segment.tar for segment in build_segments(folder, schema, config, rows)]


def _schema(name: str) -> dict[str, Any]:
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [
            {"name": "city", "dataType": "STRING"},
            {"name": "words", "dataType": "STRING"},
            {"name": "doc", "dataType": "JSON"},
            {"name": "code", "dataType": "INT"},
        ],
        "metricFieldSpecs": [{"name": "n", "dataType": "LONG"}],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:DAYS"}
        ],
    }


def _table(name: str) -> dict[str, Any]:
    return {
        "tableName": f"{name}_OFFLINE",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "timeColumnName": "ts", "segmentPushType": "APPEND"},
        "tenants": {"broker": "DefaultTenant", "server": "DefaultTenant"},
        "tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["code"]},
        "metadata": {},
    }
