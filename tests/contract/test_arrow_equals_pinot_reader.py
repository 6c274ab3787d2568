"""Arrow and Pinot's reader give the same segment, byte for byte (crc), with the correct values."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.plain_files import (
    ARROW_SCHEMA,
    CONFIG,
    ROWS,
    SCHEMA,
    WRITERS,
    expected_row,
    write_json,
    write_parquet,
)
from tests.contract.same_segments import same_as_pinot
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import TYPES, schema_of, table_config
from tests.support.tiers import FULL

pytestmark = pytest.mark.jvm


@pytest.mark.every_pinot
@pytest.mark.parametrize("file_name", WRITERS)
def test_all_plain_types(child: SegmentChild, tmp_path: Path, file_name: str) -> None:
    path = tmp_path / file_name
    WRITERS[file_name](path, ROWS)
    custom = {"a": "eA==", "b.c": "1"}
    built = same_as_pinot(child, SCHEMA, path, config=CONFIG, custom=custom)
    expected = [expected_row(row, empty_is_null=file_name.startswith("rows.csv")) for row in ROWS]
    assert [{name: row.get(name) for name in ROWS[0]} for row in built["read"]] == expected
    assert built["custom"] == custom


def test_arrow_table_equals_its_parquet_file(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
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
# By type, texts of it.
_TEXTS = {
    "INT": (" 12", "-1", None, "2147483647"),
    "LONG": ("-9223372036854775808", "007", None, "0"),
    "FLOAT": ("3.4028235e38", ".1", None, "16777217"),
    "DOUBLE": ("4.9e-324", "1e5", None, "0.1"),
    "BOOLEAN": ("TRUE", "1", None, " faLse"),
    "TIMESTAMP": ("2021-03-04 05:06:07.891", "1600000000123", None, "1969-12-31 23:59:59.999"),
    "STRING": ("text", " kept ", None, "Ü"),
    "JSON": ('{"b": [1, 2.50, null], "a": "x"}', "not json", None, "5"),
    "BYTES": ("00fFa9", "deadbeef", None, "01"),
    "BIG_DECIMAL": ("123456789012345678901234567890.1234567890", "-1E+3", None, "0.0"),
}
_TEXT_ROWS = [
    {f"c_{kind.lower()}": text for kind, text in zip(_TEXTS, texts, strict=True)}
    for texts in zip(*_TEXTS.values(), strict=True)
]


@pytest.mark.every_pinot
@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("file_name", ["texts.csv", "texts.json", "texts.parquet"])
def test_texts_of_all_types(child: SegmentChild, tmp_path: Path, file_name: str, null_handling: bool) -> None:
    path = tmp_path / file_name
    WRITERS[file_name.replace("texts", "rows")](path, _TEXT_ROWS)
    config = table_config(null_handling=null_handling)
    # Pinot alone drops the zero of 2.50.
    first = same_as_pinot(child, _TEXT_SCHEMA, path, config=config, alone=False)["read"][0]
    assert (first["c_int"], first["c_boolean"], first["c_bytes"]) == (12, 1, {"bytes": "00ffa9"})
    assert first["c_json"] == '{"b":[1,2.50,null],"a":"x"}'
    # Since 1.4 without the zero at the end.
    assert Decimal(first["c_big_decimal"]["decimal"]) == Decimal("123456789012345678901234567890.123456789")


@pytest.mark.every_pinot
def test_custom_defaults_and_lengths(child: SegmentChild, tmp_path: Path) -> None:
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
    path = tmp_path / "rows.json"
    rows: list[dict[str, Any]] = [
        {"s": "Zürich😀", "ms": ["abc", "de", None]},
        {"i": None, "ms": [], "mi": [None]},
    ]
    write_json(
        path, [*rows, {"i": 1, "b": "00", "o": False, "d": 2, "mi": [5], "t": "1600000000001", "j": "{}"}]
    )
    if child.reads_files:
        # Pinot truncates a text that is too long and has characters of two UTF-16 units.
        assert child.build(table_config(), schema, path, "auto")["reader"] == "pinot"
    write_json(path, [{"s": "Zürichsee", "ms": ["abc", "de", None]}, *rows[1:]])
    by_arrow = same_as_pinot(child, schema, path)
    assert by_arrow["read"][0]["s"] == "Züric"
    assert by_arrow["read"][0]["ms"] == ["ab", "de"]


@pytest.mark.every_pinot
def test_nulls_by_column(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"i": "INT", "s": "STRING"}, metrics={"d": "DOUBLE"}, extra={"i": {"notNull": True}})
    schema["enableColumnBasedNullHandling"] = True
    path = tmp_path / "rows.json"
    write_json(path, [{"i": 1, "s": "a", "d": 0.5}, {"i": None, "s": None, "d": None}])
    rows = same_as_pinot(child, schema, path, config=table_config(null_handling=False))["read"]
    nulls = child.features["column_nulls"]  # otherwise the table's null handling applies, which is off
    defaults = {"s": None, "d": None} if nulls else {"s": "null", "d": {"double": "0.0"}}
    found = [{name: row.get(name) for name in ("i", "s", "d")} for row in rows]
    assert found == [{"i": 1, "s": "a", "d": {"double": "0.5"}}, {"i": -(2**31), **defaults}]


@pytest.mark.every_pinot
def test_numbers_that_are_none(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"f": "FLOAT"}, multi_values={"md": "DOUBLE"}, metrics={"d": "DOUBLE"})
    numbers = [1.5, -0.0, float("nan"), None, -1e-60, float("inf")]
    rows = [{"f": each, "d": each, "md": [each, 2.5]} for each in numbers]
    path = tmp_path / "rows.parquet"
    types = {"f": pa.float32(), "d": pa.float64(), "md": pa.list_(pa.float64())}
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(types)), path)
    read = same_as_pinot(child, schema, path)["read"]
    replaced = child.features["special_values"]
    nan = {} if replaced else {"double": "nan"}
    assert [row.get("d", {}) for row in read] == [
        *({"double": text} for text in ("1.5", "0.0")),
        *(nan, {}),
        *({"double": text} for text in ("-1e-60", "inf")),
    ]
    assert [len(row["md"]) for row in read] == [2, 2, 1 if replaced else 2, 1, 2, 2]


@pytest.mark.every_pinot
def test_there_is_one_zero(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"f": "FLOAT", "d": "DOUBLE"}, multi_values={"many": "DOUBLE"})
    path = tmp_path / "rows.parquet"
    zeros = [0.0, -0.0, 0.0]  # for Pinot 0.11 these are sorted
    columns = {
        "f": pa.array(zeros, pa.float32()),
        "d": pa.array(zeros),
        "many": [[zero, 1.0] for zero in zeros],
    }
    pq.write_table(pa.table(columns), path)
    read = same_as_pinot(child, schema, path)["read"]
    assert [(row["f"], row["d"]) for row in read] == [({"float": "0.0"}, {"double": "0.0"})] * 3
    assert [row["many"][0] for row in read] == [{"double": "0.0"}] * 3


@pytest.mark.every_pinot
def test_a_time_column_in_days_as_text(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"s": "STRING"})
    day = {
        "name": "day",
        "dataType": "STRING",
        "format": "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd",
        "granularity": "1:DAYS",
    }
    schema["dateTimeFieldSpecs"] = [day]
    path = tmp_path / "rows.csv"
    path.write_text("s,day\na,2020-02-03\nb,2020-02-01\n")
    by_arrow = same_as_pinot(child, schema, path, config=table_config(time_column="day"))
    assert (by_arrow["start_time"], by_arrow["time_unit"]) == (1580515200000, "MILLISECONDS")


_INDEXED = schema_of(
    {"s": "STRING", "n": "INT", "t": "STRING", "k": "LONG", "f": "STRING"},
    multi_values={"mv": "STRING", "mi": "INT"},
    metrics={"m": "DOUBLE", "r": "LONG"},
    times={"ts": "1:MILLISECONDS:EPOCH"},
)
_TREE = {"dimensionsSplitOrder": ["s", "n"], "functionColumnPairs": ["SUM__m", "COUNT__*"]}
_INDEXES: dict[str, Any] = {
    "invertedIndexColumns": ["s", "mv"],
    "createInvertedIndexDuringSegmentGeneration": True,
    "rangeIndexColumns": ["n", "m"],
    "noDictionaryColumns": ["r", "f"],
    "bloomFilterColumns": ["s", "k"],
    "sortedColumn": ["k"],
    "segmentPartitionConfig": {"columnPartitionMap": {"n": {"functionName": "Modulo", "numPartitions": 4}}},
    "starTreeIndexConfigs": [{**_TREE, "maxLeafRecords": 10}],
}


@FULL
@pytest.mark.every_pinot
@pytest.mark.parametrize("json_index", [False, True])
def test_indexes_and_partitions(child: SegmentChild, tmp_path: Path, json_index: bool) -> None:
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
    schema, indexes = {**_INDEXED}, {**_INDEXES}
    if json_index:
        schema["dimensionFieldSpecs"] = [*schema["dimensionFieldSpecs"], {"name": "j", "dataType": "JSON"}]
        indexes["jsonIndexColumns"] = ["j"]
    fields = [{"name": "t", "encodingType": "RAW", "indexType": "TEXT"}]
    config = table_config(time_column="ts", indexing=indexes, fieldConfigList=fields)
    path = tmp_path / "rows.json"
    write_json(path, rows)
    by_arrow = child.build(config, schema, path, "arrow", read_back=True)
    assert by_arrow["reader"] == "arrow", by_arrow
    assert len(by_arrow["read"]) == len(rows)
    assert "column.k.isSorted = true" in by_arrow["properties"]
    assert any("inverted_index" in line for line in by_arrow["indexes"])
    if not child.reads_files:
        return
    by_pinot = child.build(config, schema, path, "pinot", read_back=True)
    for key in ("properties", "read", "files"):
        assert by_arrow[key] == by_pinot[key]
    # A text index contains its build time, so later offsets and the crc may differ, but not the sizes.
    kinds = [[line.split(" = ")[0] for line in built["indexes"]] for built in (by_pinot, by_arrow)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("reader", [pytest.param("pinot", marks=FULL), "arrow"])
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
def test_no_rows(child: SegmentChild, tmp_path: Path) -> None:
    empty_csv, empty_json = tmp_path / "rows.csv", tmp_path / "rows.json"
    empty_csv.write_text("d_int,ts\n")
    empty_json.write_text("")
    table = pa.table({"d_int": pa.array([], pa.int32())})
    for source in (empty_csv, empty_json, table):
        # Arrow cannot read a JSON file without rows.
        alone = () if source is empty_json else ("auto",)
        for reader in ("auto", "pinot") if child.reads_files else alone:
            built = child.build(CONFIG, SCHEMA, source, reader, read_back=True)
            assert built.get("rows") == 0, built
            assert built["rows_loaded"] == 0
            assert "segment.total.docs = 0" in built["properties"]
