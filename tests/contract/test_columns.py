"""Columns passed to Pinot's creators give the same segment as rows passed to Pinot's driver."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.contract.random_expressions import with_random_expressions
from tests.contract.random_tables import REFUSED, as_readers_give_it, random_table
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm


@pytest.mark.every_pinot
def test_random_tables(child: SegmentChild, numbers: Callable[[int, int], range]) -> None:
    """Every other table has transforms and filters."""
    refused, built, tables = [], 0, numbers(60, 200)
    for number in tables:
        table = random_table(number, of_pinot_1=child.features["is_pinot_1"])
        if not child.features["special_values"]:
            table = table.with_one_zero()
        rows, has_expressions = table.rows, number % 2 == 1
        if has_expressions:
            table = with_random_expressions(table, number, of_existing=True)
            rows = rows if child.features["keeps_source_types"] else as_readers_give_it(rows)
        describe = table.has_build_time
        by_columns = child.build(table.config, table.schema, table.rows, "arrow", describe=describe)
        by_rows = child.build(table.config, table.schema, rows, "rows", describe=describe)
        if "error" in by_columns:
            refused += [] if "error" in by_rows else [by_columns["message"]]
            is_known = any(reason in by_columns["message"] for reason in REFUSED)
            is_same = by_columns["error"] == by_rows.get("error")
            assert has_expressions or is_known or is_same, f"table {number}: {by_columns}; {table}"
            continue
        assert "error" not in by_rows, f"table {number}: {by_rows}; {table}"
        assert table.compared(by_columns) == table.compared(by_rows), f"table {number}: {table}"
        built += 1
    assert built > len(tables) // 2, refused
    assert len(refused) < len(tables) // 4, refused


@pytest.mark.every_pinot
def test_points_on_the_globe(child: SegmentChild) -> None:
    # As Pinot's GeometrySerializer writes points; 0x80 marks a geography.
    points = [b"\x80" + struct.pack(">dd", -122.5 + number / 7, 37 + number / 9) for number in range(50)]
    schema = schema_of({"place": "BYTES"})
    fields = [
        {"name": "place", "encodingType": encoding, "indexType": "H3", "properties": {"resolutions": "3,5"}}
        for encoding in ("RAW", "DICTIONARY")
    ]
    for field in fields:
        raw = ["place"] if field["encodingType"] == "RAW" else []
        config = table_config(fieldConfigList=[field], indexing={"noDictionaryColumns": raw})
        rows = pa.table({"place": pa.array(points, pa.binary())})
        by_columns, by_rows = (
            child.build(config, schema, rows, reader, describe=True) for reader in ("arrow", "rows")
        )
        assert any("h3_index" in line for line in by_columns["indexes"])
        assert by_columns == {**by_rows, "reader": "arrow"}
