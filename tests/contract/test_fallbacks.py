"""If Arrow would read different values than Pinot's reader, "auto" uses Pinot's and logs the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.same_segments import same_as_pinot
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

SCHEMA = schema_of(
    {"s": "STRING", "i": "INT", "f": "FLOAT", "b": "BYTES", "t": "TIMESTAMP", "o": "BOOLEAN"},
    multi_values={"mv": "STRING"},
    metrics={"d": "DOUBLE"},
)


CSV_CASES = {
    "byte-order mark": ("\ufeffs,i\na,1\n", None),
    "quote inside a field": ('s,i\na"b,1\n', "a quote inside an unquoted field"),
    "spaces before a quote": ('s,i\n "a",1\n', "a quote inside an unquoted field"),
    "fewer fields": ("s,i\na\nb,2\n", "row 1: 1 value instead of 2"),
    "more fields": ("s,i\na,1,x\nb,2\n", "row 1: 3 values instead of 2"),
    "more fields without a value": ("s,i\na,1,\nb,2,,\n", "row 1: 3 values instead of 2"),
    "one delimiter at the end of a value": ("s,mv\na,x;\n", "empty parts"),
    "Java's own number": ("s,d\na,1.5f\nb,Infinity\n", "unexpected characters"),
    "plus sign": ("s,i\na,+5\n", "unexpected characters"),
    "a name twice that nobody wants": ("s,x,i,x\na,2,1,3\n", None),
    "a column without a name": (",s,i\n0,a,1\n", None),
    "columns without names": ("s,,i, ,\na,x,1,y,z\n", None),
    "an empty name at the end": ("s,i,\na,1,\n", None),
    "quoted delimiter": ('s,i\n"a,b",1\n', None),
    "quoted quote and line": ('s,i\n"a ""x""\nb",1\r\n"",2\n', None),
    "spaces kept": ("s,i\n a , 1\n", None),
    "empty lines": ("s,i\n\na,1\n\n\r\nb,2\n", None),
    "carriage returns": ("s,i\ra,1\rb,2\r", None),
    "other columns only in part": ("x,s\n1,a\n", None),
    "no line end": ("s,i\na,1", None),
    "trailing delimiters stay": ("s,i\na;,1\n;,2\n", None),
    "multi-values": ("mv,i\na;b,1\nc,2\n,3\n", None),
    "boolean texts": ("o,i\nTrue,1\n0,2\n 1 ,3\nfaLse,4\n", None),
    "a text that is no boolean": ("o,i\nTrue,1\nyes,2\n", "values other than true, false, 1, 0"),
}


def test_csv_with_reader_config(child: SegmentChild, tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, str], str | None]] = [
        ("s|mv\na|x-y\n", {"delimiter": "|", "multiValueDelimiter": "-"}, None),
        ("a,1\nb,2\n", {"header": "s,i"}, None),
        ("mv,i\na;b,1\n", {"multiValueDelimiterEnabled": "false"}, None),
        ("a,1\n", {"header": ' "s", i'}, None),
        ("s, ,i,x,x\na,x,1,2,3\n", {"delimiter": ","}, None),
        ("s,i\n a ,1\n", {"delimiter": ","}, "white space"),
        ("s ,i\na,1\n", {"delimiter": ","}, "white space"),
        ("s,i\n#x\na,1\n", {"commentMarker": "#"}, "commentMarker"),
        ("s\ti\na\t1\n", {"fileFormat": "TDF", "delimiter": "\t"}, "fileFormat"),
    ]
    path = tmp_path / "rows.csv"
    for text, config, reason in cases:
        path.write_bytes(text.encode())
        built = same_as_pinot(child, SCHEMA, path, reason, reader_config=config, alone="x,x" not in text)
        if "header" in config:
            assert (built["read"][0]["s"], built["read"][0]["i"]) == ("a", 1)


@pytest.mark.parametrize("header", ["s,,i", "s,i,", "", "s,i,i", 's,i"', '"s,x",i'])
def test_a_header_that_is_not_a_list_of_names(child: SegmentChild, tmp_path: Path, header: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,1\n")
    for reader in ("auto", "pinot"):
        refused = child.build(table_config(), SCHEMA, path, reader, reader_config={"header": header})
        assert refused["error"] == "ConfigError"
        assert "header is not a list of names" in refused["message"]


JSON_CASES: dict[str, tuple[str, str | None]] = {
    "an object over lines": ('{"s":\n"a"}\n', "not JSON lines"),
    "an array of objects": ('[{"s": "a"}, {"s": "b"}]', "not JSON objects"),
    "a number for a text": (
        '{"s": "a"}\n{"s": 5}\n',
        "row 2, column s: not JSON, or not of the type of the first rows",
    ),
    "a text for a number": (
        '{"i": 5}\n{"i": "6"}\n',
        "row 2, column i: not JSON, or not of the type of the first rows",
    ),
    "a fraction for an integer": ('{"i": 5}\n{"i": 6.0}\n', "row 2, column i: not JSON, or not of the type"),
    "a nested object": ('{"s": {"a": 1}}\n', "has objects"),
    "a key twice": ('{"s": "a", "s": "b"}\n', "twice"),
    "two objects on a line": ('{"s": "a"}{"s": "b"}\n{"s": "c"}\n', "not JSON lines"),
    "a list for one value": ('{"s": ["a"]}\n', "has lists"),
    "a lone surrogate": ('{"s": "\\ud800"}\n', "row 1, column s: an escape that is not a character"),
    "a negative zero": ('{"d": -0}\n{"d": -0.0}\n', "negative zero"),
    "numbers as texts throughout": ('{"i": "5", "d": "1.5", "o": "true"}\n{"i": null}\n', None),
    "integers where fractions are": ('{"d": 1, "f": 2}\n{"d": 1.5, "f": 0.1}\n', None),
    "whole fractions": ('{"i": 5.0}\n{"i": null}\n', "has fractions"),
    "booleans of three kinds": ('{"o": true}\n{"o": false}\n', None),
    "integers and booleans as texts": ('{"s": 5}\n{"s": -7}\n', None),
    "escapes": ('{"s": "\\u00fc\\n\\"\\\\\\ud83d\\ude00\\u0000x"}\n', None),
    "unknown and missing keys": ('{"x": {"y": [1]}, "s": "a"}\n{"i": 1}\n', None),
    "an empty line": ('{"s": "a"}\n\n{"s": "b"}\n', None),
    "lists with nulls": ('{"mv": ["a", null, "b"]}\n{"mv": []}\n{"mv": [null]}\n', None),
    "one value for a list": ('{"mv": "a"}\n{"mv": "b"}\n', None),
    "hexadecimal bytes": ('{"b": "00ff"}\n{"b": ""}\n', None),
}


NOT_AS_PINOT = (
    "byte-order mark",
    "a nested object",
    "a list for one value",
    "a key twice",
    "Java's own number",
    "a name twice that nobody wants",
    "a column without a name",
    "columns without names",
    "an empty name at the end",
)
"""Cases in which Pinot alone stores another value than the file has, or refuses it."""


@pytest.mark.parametrize(
    ("name", "case"),
    [*(("rows.csv", case) for case in CSV_CASES), *(("rows.json", case) for case in JSON_CASES)],
)
def test_texts(child: SegmentChild, tmp_path: Path, name: str, case: str) -> None:
    text, reason = {"rows.csv": CSV_CASES, "rows.json": JSON_CASES}[name][case]
    path = tmp_path / name
    path.write_bytes(text.encode())
    same_as_pinot(child, SCHEMA, path, reason, alone=case not in NOT_AS_PINOT)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "1x", "x-y", "x.y", "x\ny", " s", "S", "zürich", "😀", "x", "s"]
)
def test_names_of_parquet_columns(child: SegmentChild, tmp_path: Path, name: str) -> None:
    path = tmp_path / "rows.parquet"
    columns = {"s": pa.array(["a"]), "i": pa.array([1], pa.int32()), "x": pa.array(["b"])}
    names = [*columns, name]
    pq.write_table(pa.Table.from_arrays([*columns.values(), pa.array(["c"])], names=names), path)
    if name in columns:
        for reader in ("auto", "pinot"):
            refused = child.build(table_config(), SCHEMA, path, reader)
            assert refused["error"] == "UnreadableFileError"
            assert (
                f"rows.parquet cannot be read as PARQUET: it has the column '{name}' twice"
                in refused["message"]
            )
        return
    (row,) = same_as_pinot(child, SCHEMA, path, alone=False)["read"]
    assert (row["s"], row["i"]) == ("a", 1)


def _parquet_columns() -> dict[str, tuple[pa.Array, str | None]]:
    return {
        "i from a byte": (pa.array([1, None], pa.int8()), None),
        "i from an unsigned short": (pa.array([65535, None], pa.uint16()), None),
        "i from a date": (pa.array([18000, None], pa.date32()), None),
        "i from a long": (pa.array([2**31 - 1, None], pa.int64()), None),
        "i from a long too large": (pa.array([2**31], pa.int64()), "not in range"),
        "i from an unsigned int": (pa.array([1], pa.uint32()), None),
        "i from an unsigned long": (pa.array([1], pa.uint64()), None),
        "i from a whole double": (pa.array([3.0, None], pa.float64()), None),
        "i from a fraction": (pa.array([3.7], pa.float64()), "truncated"),
        "s from a dictionary": (pa.array(["a", "b", None]).dictionary_encode(), None),
        "s from integers": (pa.array([5, None], pa.int64()), None),
        "s from booleans": (pa.array([True, None]), None),
        "i from a decimal": (pa.array(["2"]).cast(pa.decimal128(5, 0)), None),
        "i from a whole decimal": (pa.array(["2.00"]).cast(pa.decimal128(5, 2)), "unexpected characters"),
        "s from a double": (pa.array([0.1]), "is double"),
        "t from milliseconds": (pa.array([1_600_000_000_000, None], pa.timestamp("ms", "UTC")), None),
        "t from seconds, stored as milliseconds": (pa.array([1_600_000_000], pa.timestamp("s")), None),
        "t from microseconds": (pa.array([1_600_000_000_000_000, None], pa.timestamp("us")), None),
        "t from nanoseconds": (pa.array([1_600_000_000_000_000_000, None], pa.timestamp("ns")), None),
        "f from a double": (pa.array([0.1, -1e-300, None]), None),
        "f from a double beyond 2^53": (pa.array([1e20, -3e38]), None),
        "f from a large double": (pa.array([1e300]), "too large"),
        "d from a float": (pa.array([0.1, float("nan"), float("-inf"), -0.0, 0.0], pa.float32()), None),
        "b from binary": (pa.array([b"\x00\xff", b"", None], pa.binary()), None),
        "b from fixed binary": (pa.array([b"ab"], pa.binary(2)), None),
        "f from a half": (pa.array([0.5, None], pa.float16()), None),
        "mv from lists": (pa.array([["a", None, "b"], [], None, ["c"]], pa.list_(pa.string())), None),
        "mv from single values": (pa.array(["a", None, "b;c"]), None),
        "o from integers": (pa.array([0, 1, None], pa.int32()), None),
        "o from other integers": (pa.array([0, 5], pa.int32()), "values other than 0, 1"),
        "s from a struct": (pa.array([{"x": 1}]), None),
        "s from lists": (pa.array([[1, None], [], None]), None),
        "s from a decimal": (pa.array(["1.5"]).cast(pa.decimal128(5, 2)), None),
    }


@pytest.mark.parametrize("case", _parquet_columns())
def test_parquet(child: SegmentChild, tmp_path: Path, case: str) -> None:
    column, reason = _parquet_columns()[case]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({case.split()[0]: column}), path)
    # Pinot alone misreads these, and times.
    kinds = ("unsigned", "decimal", "fixed", "struct", "lists", "half", "micro", "nano", "date", "seconds")
    same_as_pinot(child, SCHEMA, path, reason, alone=not any(kind in case for kind in kinds))


def test_several_row_groups_and_other_columns(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"x": range(1000), "i": range(1000), "s": [f"v{each % 10}" for each in range(1000)]})
    # 0.11.0 has zstd for Parquet only with Hadoop's native library; snappy is plain Java.
    pq.write_table(table, path, row_group_size=77, compression="snappy")
    same_as_pinot(child, SCHEMA, path)


def test_rows_that_are_unnested(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    value = [{"y": "a"}]
    path.write_text("".join(json.dumps({"x": value, "i": number}) + "\n" for number in range(4)))
    config = table_config(ingestionConfig={"complexTypeConfig": {"fieldsToUnnest": ["x"], "delimiter": "."}})
    built = child.build(config, SCHEMA, path, "auto", read_back=True)
    reason = "the table config has ingestionConfig.complexTypeConfig"
    assert (built["reader"], built["fallback_reason"], built["rows"]) == ("pinot", reason, 4)
    table = pa.table({"x": [value] * 4, "i": pa.array(range(4), pa.int32())})
    from_arrow = child.build(config, SCHEMA, table, "auto", read_back=True)
    assert from_arrow["read"] == built["read"]


def test_schemas_that_only_pinot_knows(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,s,i\n1600000000000,a,1\n")
    derived = schema_of({"s": "STRING"})
    derived["timeFieldSpec"] = {
        "incomingGranularitySpec": {"name": "ts", "dataType": "LONG", "timeType": "MILLISECONDS"},
        "outgoingGranularitySpec": {"name": "day", "dataType": "INT", "timeType": "DAYS"},
    }
    times = schema_of({"s": "STRING"})
    unit = {"format": "1:MILLISECONDS:TIMESTAMP", "granularity": "1:MILLISECONDS"}
    times["dateTimeFieldSpecs"] = [{"name": "ts", "dataType": "TIMESTAMP", **unit}]
    index = {"indexTypes": ["TIMESTAMP"], "timestampConfig": {"granularities": ["DAY"]}}
    field = {"name": "ts", "encodingType": "DICTIONARY", **index}
    for config, schema, reason in (
        (table_config(), derived, "converts between granularities"),
        (table_config(fieldConfigList=[field]), times, "timestamp index"),
    ):
        built = child.build(config, schema, path, "auto", read_back=True)
        assert built["reader"] == "pinot", built
        assert reason in built["fallback_reason"]
    assert built["read"][0]["$ts$DAY"] == 1_599_955_200_000
