"""Arrow and Pinot's reader give the same segment, byte for byte (crc), with the correct values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.plain_files import (
    ARROW_SCHEMA,
    STRINGS,
    expected_row,
    write_avro,
    write_csv,
    write_json,
    write_parquet,
)
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import METRIC_TYPES, MULTI_VALUE_TYPES, TYPES, schema_of, table_config

pytestmark = pytest.mark.jvm

ROWS: list[dict[str, Any]] = [
    {
        "d_int": number - 5,
        "d_long": (number - 5) * 4_000_000_001,
        "d_float": (number - 5) * 0.1,
        "d_double": [1.5, -1.75, 0.0, 1e300, -2.25][number % 5],
        "d_boolean": number % 2 == 0,
        "d_string": STRINGS[number % len(STRINGS)],
        "m_int": number % 3,
        "m_long": 2**62 - number,
        "m_float": 0.5 * number,
        "m_double": 1 / (number + 1),
        "mv_int": [number, -number, number],
        "mv_long": [number * 10**12],
        "mv_float": [0.25, 0.5 * number],
        "mv_double": [1.0 / 3, number / 7],
        "mv_string": ["a", f"v{number % 4}", "Zürich"],
        "ts": 1_600_000_000_000 + 86_400_000 * number,
    }
    for number in range(64)
]
# Each column lacks its value in some rows, and one row has no value except the time.
for _place, _column in enumerate(name for name in ROWS[0] if name != "ts"):
    ROWS[_place + 20][_column] = None
for _column in ROWS[40]:
    if _column != "ts":
        ROWS[40][_column] = None

SCHEMA = schema_of(
    {f"d_{kind.lower()}": kind for kind in ("INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN", "STRING")},
    multi_values={f"mv_{kind.lower()}": kind for kind in MULTI_VALUE_TYPES},
    metrics={f"m_{kind.lower()}": kind for kind in METRIC_TYPES if kind != "BIG_DECIMAL"},
    times={"ts": "1:MILLISECONDS:EPOCH"},
)
CONFIG = table_config(time_column="ts")


WRITERS: Mapping[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "rows.csv": write_csv,
    "rows.csv.gz": write_csv,
    "rows.json": write_json,
    "rows.json.gz": write_json,
    "rows.parquet": write_parquet,
    "rows.avro": write_avro,
    "rows.avro.gz": write_avro,
}


def alike(
    child: SegmentChild, config: Mapping[str, Any], schema: Mapping[str, Any], path: Path, **more: Any
) -> dict[str, Any]:
    """Build with Arrow, and with Pinot's own reader if there is one; return the common result."""
    by_arrow = child.build(config, schema, path, "arrow", read_back=True, **more)
    assert by_arrow["reader"] == "arrow", by_arrow
    if child.reads(path.name.split(".")[1]):
        by_pinot = child.build(config, schema, path, "pinot", read_back=True, **more)
        assert by_arrow == {**by_pinot, "reader": "arrow"}
    return by_arrow


@pytest.mark.every_pinot
@pytest.mark.parametrize("file_name", WRITERS)
def test_all_plain_types(child: SegmentChild, source_dir: Path, file_name: str) -> None:
    path = source_dir / file_name
    WRITERS[file_name](path, ROWS)
    custom = {"a": "eA==", "b.c": "1"}
    expected = [expected_row(row, empty_is_null=file_name.startswith("rows.csv")) for row in ROWS]
    built = {}
    for reader in child.readers(path):
        built[reader] = child.build(CONFIG, SCHEMA, path, reader, read_back=True, custom=custom)
        assert "error" not in built[reader], built
        assert [{name: row.get(name) for name in ROWS[0]} for row in built[reader]["read"]] == expected
        assert built[reader]["custom"] == custom
    by_choice = built["auto"]
    assert (by_choice["reader"], by_choice["fallback_reason"]) == ("arrow", None)
    same = ("rows", "crc", "start_time", "end_time", "time_unit", "segment_size_bytes")
    assert len({tuple(each[key] for key in same) for each in built.values()}) == 1


def test_arrow_table_equals_its_parquet_file(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.parquet"
    write_parquet(path, ROWS)
    from_file = child.build(CONFIG, SCHEMA, path, "pinot")
    table = pa.Table.from_pylist(ROWS, schema=ARROW_SCHEMA)
    from_table = child.build(CONFIG, SCHEMA, table, "arrow")
    by_parquet = child.build(CONFIG, SCHEMA, table, "pinot")
    assert from_table["crc"] == from_file["crc"] == by_parquet["crc"]


# --- types that Pinot itself converts from the texts of a file --------------------------------------------

_TEXT_SCHEMA = schema_of(
    {f"c_{kind.lower()}": kind for kind in TYPES if kind != "BIG_DECIMAL"},
    metrics={"c_big_decimal": "BIG_DECIMAL"},
)
_TEXT_ROWS: list[dict[str, Any]] = [
    {
        "c_int": " 12",
        "c_long": "-9223372036854775808",
        "c_float": "3.4028235e38",
        "c_double": "4.9e-324",
        "c_boolean": "TRUE",
        "c_timestamp": "2021-03-04 05:06:07.891",
        "c_string": "text",
        "c_json": '{"b": [1, 2.50, null], "a": "x"}',
        "c_bytes": "00fFa9",
        "c_big_decimal": "123456789012345678901234567890.1234567890",
    },
    {
        "c_int": "-1",
        "c_long": "007",
        "c_float": ".1",
        "c_double": "1e5",
        "c_boolean": "1",
        "c_timestamp": "1600000000123",
        "c_string": " kept ",
        "c_json": "not json",
        "c_bytes": "deadbeef",
        "c_big_decimal": "-1E+3",
    },
    dict.fromkeys([f"c_{kind.lower()}" for kind in TYPES]),
    {
        "c_int": "2147483647",
        "c_long": "0",
        "c_float": "16777217",
        "c_double": "0.1",
        "c_boolean": "yes",
        "c_timestamp": "1969-12-31 23:59:59.999",
        "c_string": "Ü",
        "c_json": "5",
        "c_bytes": "01",
        "c_big_decimal": "0.0",
    },
]


@pytest.mark.every_pinot
@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("file_name", ["texts.csv", "texts.json", "texts.parquet"])
def test_texts_of_all_types(
    child: SegmentChild, source_dir: Path, file_name: str, null_handling: bool
) -> None:
    path = source_dir / file_name
    if file_name.endswith("parquet"):
        names = list(_TEXT_ROWS[0])
        pq.write_table(
            pa.Table.from_pylist(_TEXT_ROWS, schema=pa.schema([(n, pa.string()) for n in names])), path
        )
    else:
        WRITERS[file_name.replace("texts", "rows")](path, _TEXT_ROWS)
    first = alike(child, table_config(null_handling=null_handling), _TEXT_SCHEMA, path)["read"][0]
    assert (first["c_int"], first["c_boolean"], first["c_bytes"]) == (12, 1, {"bytes": "00ffa9"})
    assert first["c_json"] == '{"b":[1,2.5,null],"a":"x"}'
    # Since 1.4 without the zero at the end.
    assert Decimal(first["c_big_decimal"]["decimal"]) == Decimal("123456789012345678901234567890.123456789")


@pytest.mark.every_pinot
def test_custom_defaults_and_lengths(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of(
        {"i": "INT", "s": "STRING", "b": "BYTES", "t": "TIMESTAMP", "o": "BOOLEAN", "j": "JSON"},
        multi_values={"mi": "INT", "ms": "STRING"},
        metrics={"d": "DOUBLE"},
        extra={
            "i": {"defaultNullValue": "7"},
            "s": {"defaultNullValue": "a long default", "maxLength": 5},
            "b": {"defaultNullValue": "beef"},
            "t": {"defaultNullValue": "1600000000000"},
            "o": {"defaultNullValue": "true"},
            "mi": {"defaultNullValue": "-3"},
            "ms": {"defaultNullValue": "none", "maxLength": 2},
            "d": {"defaultNullValue": "0.25"},
        },
    )
    path = source_dir / "rows.json"
    rows: list[dict[str, Any]] = [
        {"s": "Zürich😀", "ms": ["abc", "de", None]},
        {"i": None, "ms": [], "mi": [None]},
    ]
    write_json(
        path, [*rows, {"i": 1, "b": "00", "o": False, "d": 2, "mi": [5], "t": "1600000000001", "j": "{}"}]
    )
    if child.reads("json"):
        # Pinot truncates a text that is too long and has characters of two UTF-16 units.
        assert child.build(table_config(), schema, path, "auto")["reader"] == "pinot"
    write_json(path, [{"s": "Zürichsee", "ms": ["abc", "de", None]}, *rows[1:]])
    by_arrow = alike(child, table_config(), schema, path)
    assert by_arrow["read"][0]["s"] == "Züric"
    assert by_arrow["read"][0]["ms"] == ["ab", "de"]


@pytest.mark.every_pinot
def test_nulls_by_column(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of({"i": "INT", "s": "STRING"}, metrics={"d": "DOUBLE"}, extra={"i": {"notNull": True}})
    schema["enableColumnBasedNullHandling"] = True
    path = source_dir / "rows.json"
    write_json(path, [{"i": 1, "s": "a", "d": 0.5}, {"i": None, "s": None, "d": None}])
    rows = alike(child, table_config(null_handling=False), schema, path)["read"]
    nulls = child.features["column_nulls"]  # otherwise the table's null handling applies, which is off
    defaults = {"s": None, "d": None} if nulls else {"s": "null", "d": {"double": "0.0"}}
    found = [{name: row.get(name) for name in ("i", "s", "d")} for row in rows]
    assert found == [{"i": 1, "s": "a", "d": {"double": "0.5"}}, {"i": -(2**31), **defaults}]


@pytest.mark.every_pinot
def test_numbers_that_are_none(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of({"f": "FLOAT"}, multi_values={"md": "DOUBLE"}, metrics={"d": "DOUBLE"})
    numbers = [1.5, -0.0, float("nan"), None, -1e-60, float("inf")]
    rows = [{"f": each, "d": each, "md": [each, 2.5]} for each in numbers]
    path = source_dir / "rows.parquet"
    types = {"f": pa.float32(), "d": pa.float64(), "md": pa.list_(pa.float64())}
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(types)), path)
    read = alike(child, table_config(), schema, path)["read"]
    replaced = child.features["special_values"]
    nan, zero = ({}, "0.0") if replaced else ({"double": "nan"}, "-0.0")
    assert [row.get("d", {}) for row in read] == [
        *({"double": text} for text in ("1.5", zero)),
        *(nan, {}),
        *({"double": text} for text in ("-1e-60", "inf")),
    ]
    assert [len(row["md"]) for row in read] == [2, 2, 1 if replaced else 2, 1, 2, 2]


@pytest.mark.every_pinot
def test_a_time_column_in_days_as_text(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of({"s": "STRING"})
    day = {
        "name": "day",
        "dataType": "STRING",
        "format": "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd",
        "granularity": "1:DAYS",
    }
    schema["dateTimeFieldSpecs"] = [day]
    path = source_dir / "rows.csv"
    path.write_text("s,day\na,2020-02-03\nb,2020-02-01\n")
    by_arrow = alike(child, table_config(time_column="day"), schema, path)
    assert (by_arrow["start_time"], by_arrow["time_unit"]) == (1580515200000, "MILLISECONDS")


# --- indexes -----------------------------------------------------------------------------------------------

_INDEXED = schema_of(
    {"s": "STRING", "n": "INT", "j": "JSON", "t": "STRING", "k": "LONG", "f": "STRING"},
    multi_values={"mv": "STRING", "mi": "INT"},
    metrics={"m": "DOUBLE", "r": "LONG"},
    times={"ts": "1:MILLISECONDS:EPOCH"},
)
_INDEXES: dict[str, Any] = {
    "invertedIndexColumns": ["s", "mv"],
    "createInvertedIndexDuringSegmentGeneration": True,
    "rangeIndexColumns": ["n", "m"],
    "noDictionaryColumns": ["r", "f"],
    "bloomFilterColumns": ["s", "k"],
    "sortedColumn": ["k"],
    "segmentPartitionConfig": {"columnPartitionMap": {"n": {"functionName": "Modulo", "numPartitions": 4}}},
    "starTreeIndexConfigs": [
        {
            "dimensionsSplitOrder": ["s", "n"],
            "functionColumnPairs": ["SUM__m", "COUNT__*"],
            "maxLeafRecords": 10,
        }
    ],
}


@pytest.mark.every_pinot
@pytest.mark.parametrize("json_index", [False, True])
def test_indexes_and_partitions(child: SegmentChild, source_dir: Path, json_index: bool) -> None:
    # Without the JSON column there is nothing to transform, and the statistics come from Arrow.
    rows = [
        {
            "s": f"s{number % 7}",
            "n": number % 50,
            "t": f"some words {number}",
            "k": number,
            "f": f"raw{number}",
        }
        | {"mv": [f"a{number % 3}", "b"], "mi": [number % 5, 1], "m": number / 4, "r": number * 10**10}
        | {"ts": 1_600_000_000_000 + number}
        | ({"j": json.dumps({"a": number % 4})} if json_index else {})
        for number in range(2_000)
    ]
    schema = {**_INDEXED}
    indexes = {**_INDEXES}
    if json_index:
        indexes["jsonIndexColumns"] = ["j"]
    else:
        schema["dimensionFieldSpecs"] = [
            spec for spec in schema["dimensionFieldSpecs"] if spec["name"] != "j"
        ]
    fields = [{"name": "t", "encodingType": "RAW", "indexType": "TEXT"}]
    config = table_config(time_column="ts", indexing=indexes, fieldConfigList=fields)
    path = source_dir / "rows.json"
    write_json(path, rows)
    by_arrow = child.build(config, schema, path, "arrow", read_back=True)
    assert by_arrow["reader"] == "arrow", by_arrow
    assert len(by_arrow["read"]) == len(rows)
    assert "column.k.isSorted = true" in by_arrow["properties"]
    assert any("inverted_index" in line for line in by_arrow["indexes"])
    if not child.reads("json"):
        return
    by_pinot = child.build(config, schema, path, "pinot", read_back=True)
    for key in ("properties", "read", "files"):
        assert by_arrow[key] == by_pinot[key]
    # A text index contains its build time, so later offsets and the crc may differ, but not the sizes.
    kinds = [[line.split(" = ")[0] for line in built["indexes"]] for built in (by_pinot, by_arrow)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("reader", ["pinot", "arrow"])
def test_the_first_builds_of_a_process_side_by_side(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "rows.json"
    write_json(path, ROWS)
    with SegmentChild(tmp_path) as fresh:
        request = {"action": "side_by_side", "threads": 4, "table_config": CONFIG, "schema": SCHEMA}
        request |= {
            "path": str(path),
            "format": "json",
            "name": "s",
            "reader": reader,
            "work_dir": str(tmp_path),
        }
        assert len(set(fresh.ask(request)["crcs"])) == 1


@pytest.mark.every_pinot
def test_no_rows(child: SegmentChild, source_dir: Path) -> None:
    empty_csv, empty_json = source_dir / "rows.csv", source_dir / "rows.json"
    empty_csv.write_text("d_int,d_string\n")
    empty_json.write_text("")
    table = pa.table({"d_int": pa.array([], pa.int32())})
    for source in (empty_csv, empty_json, table):
        is_read = child.reads("parquet" if isinstance(source, pa.Table) else source.suffix[1:])
        # Arrow cannot read a JSON file without rows.
        alone = () if source is empty_json else ("auto",)
        for reader in ("auto", "pinot") if is_read else alone:
            built = child.build(CONFIG, SCHEMA, source, reader, read_back=True)
            assert built.get("rows") == 0, built
            assert built["rows_loaded"] == 0
            assert "segment.total.docs = 0" in built["properties"]
