"""The checks of a staged version, judged on segments of each Pinot: planted faults fail, good pushes pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from controller_client.publishing.checks.judgement import RowCounts, failed_checks
from controller_client.publishing.checks.rules import Checks
from controller_client.segment_tar import DescribedSegment, describe_tar
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import (
    MULTI_VALUE_TYPES,
    TYPES,
    arrow_schema,
    schema_of,
    table_config,
)

pytestmark = pytest.mark.jvm

_DAY_MS = 86_400_000
_DAY_1_MS = 1_772_323_200_000  # 2026-03-01
_SCHEMA = schema_of(
    {"id": "LONG", "city": "STRING", "note": "STRING", "lat": "DOUBLE"},
    multi_values={"tags": "STRING"},
    metrics={"price": "DOUBLE", "quantity": "INT"},
    times={"ts": "1:MILLISECONDS:EPOCH"},
)
_CHECKS = {
    "checks.minRows": "500",
    "checks.maxRowsChange": "30%",
    "checks.range.price": "0..1000",
    "checks.range.quantity": "1..100",
    "checks.range.lat": "-90..90",
    "checks.range.ts": f"{_DAY_1_MS}..{_DAY_1_MS + 90 * _DAY_MS}",
}

Rows = list[dict[str, Any]]


def _described(child: SegmentChild, schema: Mapping[str, Any], rows: pa.Table) -> DescribedSegment:
    built = child.build(table_config(), schema, rows, "auto")
    assert "error" not in built, built
    return describe_tar(Path(built["tar"]))


@pytest.mark.every_pinot
def test_columns_without_values(child: SegmentChild) -> None:
    schema = schema_of(
        # Pinot does not describe the default of a column of bytes in a form that can be compared.
        {f"d_{kind}": kind for kind in TYPES if kind not in ("BIG_DECIMAL", "BYTES")},
        multi_values={f"m_{kind}": kind for kind in MULTI_VALUE_TYPES},
        metrics={f"n_{kind}": kind for kind in ("INT", "LONG", "FLOAT", "DOUBLE")},
    )
    values: dict[str, Any] = {"BOOLEAN": True, "STRING": "x", "JSON": "{}"}
    filled = {
        name: [value] if name.startswith("m_") else value
        for name in arrow_schema(schema).names
        for value in [values.get(name[2:], 1)]
    }
    nothing = dict.fromkeys(filled)
    for rows, is_empty in (([nothing, nothing], True), ([nothing, filled], False), ([filled], False)):
        segment = _described(child, schema, pa.Table.from_pylist(rows, schema=arrow_schema(schema)))
        assert segment.rows == len(rows)
        assert {name: column.are_defaults for name, column in segment.columns.items()} == dict.fromkeys(
            filled, is_empty
        )


def _push(random: Random) -> Rows:
    """Return the rows of a good push."""
    return [
        {
            "id": number,
            "city": random.choice(["Oslo", "Rome", "", None]),
            "note": "late" if random.random() < 0.01 else None,
            "lat": random.uniform(-90, 90),
            "tags": random.choice([None, [], ["a"], ["a", "b"]]),
            "price": random.choice([0.0, None, random.uniform(0, 1000)]),
            "quantity": random.randint(1, 100),
            "ts": _DAY_1_MS + random.randint(0, 90 * _DAY_MS),
        }
        for number in range(random.randint(900, 1_100))
    ]


def _with(**changes: Callable[[dict[str, Any]], Any]) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, **{name: change(row) for name, change in changes.items()}} for row in rows]


_FAULTS: Mapping[str, tuple[Callable[[Rows], Rows], str]] = {
    "half the rows": (lambda rows: rows[::2], "checks.maxRowsChange"),
    "few rows": (lambda rows: rows[:400], "checks.minRows"),
    "no rows": (lambda _: [], "checks.minRows"),
    "all rows twice": (lambda rows: rows + rows, "checks.maxRowsChange"),
    "a column is null": (_with(city=lambda _: None), "column city"),
    "a column is missing": (
        lambda rows: [{name: value for name, value in row.items() if name != "price"} for row in rows],
        "column price",
    ),
    "a list is always empty": (_with(tags=lambda _: []), "column tags"),
    "a metric is always zero": (_with(price=lambda _: 0.0), "column price"),
    "seconds for milliseconds": (_with(ts=lambda row: row["ts"] // 1000), "checks.range.ts"),
    "cents for euros": (_with(price=lambda row: 100 * (row["price"] or 50)), "checks.range.price"),
    "one wrong sign": (
        lambda rows: [{**rows[0], "quantity": -rows[0]["quantity"]}, *rows[1:]],
        "checks.range.quantity",
    ),
    "one value that is missing": (lambda rows: [{**rows[0], "quantity": None}, *rows[1:]], "range.quantity"),
    "columns that are swapped": (_with(lat=lambda row: float(row["id"])), "checks.range.lat"),
}


class _Before:
    """What the table served before: a push."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def rows_with_value(self, column: str, default: str) -> int:
        values = [row.get(column) for row in self._rows]
        return sum(bool(value) and str(value) != default for value in values)


def _reasons(child: SegmentChild, before: Rows, rows: Rows) -> list[str]:
    checks: Checks = FileIngestionParams.from_configs(
        {"inputDirURI": "file:///in", "inputFormat": "csv", **_CHECKS}
    ).checks
    names = [name for name in arrow_schema(_SCHEMA).names if not rows or name in rows[0]]
    schema = pa.schema([arrow_schema(_SCHEMA).field(name) for name in names])
    parts = [rows[:300], rows[300:]] if rows else []
    staged = [_described(child, _SCHEMA, pa.Table.from_pylist(part, schema=schema)) for part in parts if part]
    counts = RowCounts(len(rows), ["before"], ["before"], lambda: {"before": len(before)})
    return failed_checks(checks, counts, [staged], _Before(before))


@pytest.mark.every_pinot
def test_good_pushes_pass(child: SegmentChild, numbers: Callable[[int, int], range]) -> None:
    for number in numbers(3, 100):
        random = Random(number)
        before = _push(random)
        assert _reasons(child, before, _push(random)) == [], number


@pytest.mark.every_pinot
def test_planted_faults_fail(child: SegmentChild, random_seed: int) -> None:
    random = Random(random_seed)
    before = _push(random)
    for name, (fault, words) in _FAULTS.items():
        reasons = _reasons(child, before, fault(_push(random)))
        assert any(words in reason for reason in reasons), (name, reasons)
