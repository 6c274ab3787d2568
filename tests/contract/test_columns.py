"""Columns passed to Pinot's creators give the same segment as rows passed to Pinot's driver."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest

from tests.contract.random_tables import RandomTable, random_table
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

_EACH_RUN, _FULL = 120, 2_000
_REASONS = (
    "two UTF-16 units",  # truncated at a length that may be inside a character
    "rows with no value other than NaN",
)


@pytest.mark.every_pinot
def test_random_tables(child: SegmentChild, request: pytest.FixtureRequest) -> None:
    first = (request.config.option.seed or 0) * _FULL
    refused = 0
    built = 0
    count = _FULL if request.config.option.full else _EACH_RUN
    for number in range(first, first + count):
        table = random_table(number, of_pinot_1=child.features["is_pinot_1"])
        by_columns = child.build(table.config, table.schema, table.rows, "arrow")
        if any(reason in by_columns.get("message", "") for reason in _REASONS):
            refused += 1
            continue
        by_rows = child.build(table.config, table.schema, table.rows, "rows")
        if table.has_build_time and "error" not in by_rows:
            compare_indexes(child, table, number)
        else:
            same = ("crc", "rows", "segment_size_bytes", "error")
            found, expected = ([built.get(key) for key in same] for built in (by_columns, by_rows))
            built += "error" not in by_rows
            assert found == expected, f"table {number}: {by_columns} is not {by_rows}; {table}"
    assert refused < count // 4
    assert built > count // 2


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


def compare_indexes(child: SegmentChild, table: RandomTable, number: int) -> None:
    """Compare everything but the bytes: a text index contains the time at which it was built."""
    built: list[dict[str, Any]] = [
        child.build(table.config, table.schema, table.rows, reader, describe=True)
        for reader in ("arrow", "rows")
    ]
    same = ("properties", "files", "rows")
    found, expected = ([each[key] for key in same] for each in built)
    assert found == expected, f"table {number}"
    kinds = [[line.split(" = ")[0] for line in each["indexes"]] for each in built]
    assert kinds[0] == kinds[1], f"table {number}"
