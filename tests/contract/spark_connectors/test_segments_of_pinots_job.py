"""A table with segments built by Pinot's LaunchDataIngestionJob: every value is read as it was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.pinot_job import launch_job
from tests.integration.spark_connectors.conftest import MakeTable
from tests.support.cluster import PinotCluster
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, FULL]

UNICODE = 'ü 漢字 🙂 "quoted", \\ back;slash\nline'
AT = datetime(2020, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
EARLY = datetime(1960, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC)
# Beyond an INT's range: Pinot does not accept a TIMESTAMP from an INT.
EARLY_MS, AT_MS = -315_619_199_999, 1_577_836_800_123

# By column: Pinot's type, the value in the file, and the value in a DataFrame (if different).
VALUES: Mapping[str, tuple[str, list[Any], list[Any] | None]] = {
    "i": ("INT", [0, -(2**31) + 1, 2**31 - 1], None),
    "l": ("LONG", [0, -(2**63) + 1, 2**63 - 1], None),
    "f": ("FLOAT", [0.0, -1.5, 3.4028234663852886e38], None),
    "d": ("DOUBLE", [0.1, -5e-324, 1.7976931348623157e308], None),
    "flag": ("BOOLEAN", [True, False], None),
    "at": ("TIMESTAMP", [EARLY_MS, AT_MS], [EARLY, AT]),
    "s": ("STRING", ["", UNICODE, "null"], None),
    # Pinot's reader removes nulls from arrays, and treats an empty object as null.
    "doc": ("JSON", [{"a": [1, "ü"], "b": {"c": "x"}}, {"n": 1.5}], None),
    "raw": ("BYTES", ["00ff7f", ""], [b"\x00\xff\x7f", b""]),
}
METRICS: Mapping[str, tuple[str, list[Any], list[Any] | None]] = {
    "mi": ("INT", [7, -7], None),
    "ml": ("LONG", [2**53 + 1, -(2**53) - 1], None),
    "mf": ("FLOAT", [0.25, -0.25], None),
    "md": ("DOUBLE", [1e-7, 1e22], None),
    "big": (
        "BIG_DECIMAL",
        ["12345678901234567890.123456789012345678", "-0.000000000000000001"],
        [Decimal("12345678901234567890.123456789012345678"), Decimal("-0.000000000000000001")],
    ),
}
MANY: Mapping[str, tuple[str, list[Any], list[Any] | None]] = {
    "ints": ("INT", [[1, -(2**31) + 1, 2**31 - 1], [7]], None),
    "longs": ("LONG", [[2**63 - 1, 0], [-1]], None),
    "floats": ("FLOAT", [[1.5, -2.25], [0.5]], None),
    "doubles": ("DOUBLE", [[0.1, 5e-324], [1e300]], None),
    "words": ("STRING", [["", "b", UNICODE], ["one"]], None),
}
TIMES: Mapping[str, tuple[str, list[Any], list[Any] | None]] = {
    "days": ("INT", [18_262, -1], None),
    "millis": ("LONG", [AT_MS, EARLY_MS], None),
    "day_text": ("STRING", ["2020-02-29", "1969-12-31"], None),
}
FORMATS = {
    "days": "1:DAYS:EPOCH",
    "millis": "1:MILLISECONDS:EPOCH",
    "day_text": "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd",
}
COLUMNS = {**VALUES, **METRICS, **MANY, **TIMES}
SCHEMA: dict[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "INT"},
        *({"name": name, "dataType": kind} for name, (kind, _, _) in VALUES.items()),
        *({"name": name, "dataType": kind, "singleValueField": False} for name, (kind, _, _) in MANY.items()),
    ],
    "metricFieldSpecs": [{"name": name, "dataType": kind} for name, (kind, _, _) in METRICS.items()],
    "dateTimeFieldSpecs": [
        {"name": name, "dataType": TIMES[name][0], "format": text, "granularity": "1:DAYS"}
        for name, text in FORMATS.items()
    ],
}
FILES, ROWS = 2, 7
TYPES = {
    "INT": "int",
    "LONG": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "TIMESTAMP": "timestamp",
    "STRING": "string",
    "JSON": "string",
    "BYTES": "binary",
    "BIG_DECIMAL": "string",
}


def given(row: int, part: int) -> dict[str, Any]:
    """Return a row as in its file (part 1) or in a DataFrame (2); the last row of each file is null."""
    if row % ROWS == ROWS - 1:
        return {"id": row, **dict.fromkeys(COLUMNS)}
    values = {name: column[part] or column[1] for name, column in COLUMNS.items()}
    return {"id": row, **{name: each[row % len(each)] for name, each in values.items()}}


def comparable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the texts of BIG_DECIMAL and JSON by numbers and values."""
    values = dict(row)
    if values["id"] % ROWS != ROWS - 1:
        values |= {"big": Decimal(values["big"]), "doc": json.loads(values["doc"])}
        values["raw"] = bytes(values["raw"])
        values["at"] = values["at"].astimezone(UTC)
    return values


def test_every_type_and_null(
    spark: SparkSession, make_table: MakeTable, pinot: PinotCluster, tmp_path: Path
) -> None:
    table, source = make_table(SCHEMA), tmp_path / "rows"
    source.mkdir()
    for number in range(FILES):
        rows = range(number * ROWS, (number + 1) * ROWS)
        lines = "".join(f"{json.dumps(given(row, 1))}\n" for row in rows)
        (source / f"{number}.json").write_text(lines, encoding="utf-8")
    launch_job(pinot.controller_url, table.name, source, "json", cores=1, heap_mb=256)
    # The job's exit code is 0 in any case.
    log = (tmp_path / f"{table.name}.log").read_text()
    assert len(table.segments()) == FILES, log[:3000]
    table.wait_rows("count(*)", [FILES * ROWS])
    wanted = [given(row, 2) for row in range(FILES * ROWS)]
    for way in ("servers", "segments", "broker"):
        frame = spark.read.format("pinot").options(**table.options, readFrom=way).load()
        assert dict(frame.dtypes) == {
            "id": "int",
            **{
                name: f"array<{TYPES[kind]}>" if name in MANY else TYPES[kind]
                for name, (kind, _, _) in COLUMNS.items()
            },
        }
        found = sorted((comparable(row.asDict()) for row in frame.collect()), key=lambda row: int(row["id"]))
        wrong = [(a, b) for a, b in zip(wanted, found, strict=True) if a != b]
        assert not wrong, (way, wrong[:2])
