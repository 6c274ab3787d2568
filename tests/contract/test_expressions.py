"""Transforms and filters over columns give the same segment as Pinot's own reader, byte for byte."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.avro_files import write_avro_file
from tests.contract.random_expressions import with_random_expressions
from tests.contract.random_tables import random_table
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

_NAMES = ["Aachen", "bern", "Ünal", "", "ÇA", "日本 x", None, "a,b", "zz"]
ROWS: list[dict[str, Any]] = [
    {
        "ms": None if number == 3 else 1_600_000_000_000 + 43_200_123 * (number % 40) * (-1) ** number,
        "days": 18_000 + number % 9,
        "day_text": f"2021-0{number % 9 + 1}-1{number % 10}",
        "name": _NAMES[number % len(_NAMES)],
        "code": None if number % 11 == 0 else f"c{number % 4}",
        "i": None if number == 5 else (number % 7) - 3,
        "big": 5_000_000_000 + number % 3,
        "d": None if number == 8 else [0.5, -1.25, 3.75, 1e10 + 0.5][number % 4],
        "whole": [2.0, 0.5, -3.0][number % 3],
        "o": None if number == 2 else number % 2 == 0,
        "doc": None if number % 10 == 9 else json.dumps({"a": {"b": number % 5}, "l": [number % 3, "x"]}),
        "spare": None,
    }
    for number in range(100)
]
ARROW_SCHEMA = pa.schema(
    {
        "ms": pa.int64(),
        "days": pa.int32(),
        "day_text": pa.string(),
        "name": pa.string(),
        "code": pa.string(),
        "i": pa.int32(),
        "big": pa.int64(),
        "d": pa.float64(),
        "whole": pa.float64(),
        "o": pa.bool_(),
        "doc": pa.string(),
        "spare": pa.string(),
    }.items()
)
_OWN = {"code": "STRING", "i": "INT", "big": "LONG", "o": "BOOLEAN"}
"""Columns that are stored unchanged, whether or not functions use them too."""


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {key: str(value).lower() if isinstance(value, bool) else value for key, value in row.items()}
            )


def _write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    # A key without a value is omitted in every other row.
    lines = [
        json.dumps({key: value for key, value in row.items() if value is not None or number % 2})
        for number, row in enumerate(rows)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW_SCHEMA), path)


_AVRO_TYPES = {
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
}


def _write_avro(path: Path, rows: list[dict[str, Any]]) -> None:
    kinds = {
        name: ARROW_SCHEMA.field(name).type if name in ARROW_SCHEMA.names else pa.string() for name in rows[0]
    }
    fields = [{"name": name, "type": ["null", _AVRO_TYPES[kind]]} for name, kind in kinds.items()]
    write_avro_file(path, fields, rows)


WRITERS: Mapping[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "rows.csv": _write_csv,
    "rows.json": _write_json,
    "rows.parquet": _write_parquet,
    "rows.avro": _write_avro,
}


@dataclass(frozen=True)
class Case:
    """Computed columns, each with its type and its function, and a filter."""

    columns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    filter_function: str | None = None
    multi_values: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    in_schema: bool = False

    def schema(self) -> dict[str, Any]:
        own = {name: kind for name, kind in _OWN.items() if name not in self.columns}
        extra = {name: {"transformFunction": function} for name, (_, function) in self.columns.items()}
        kinds = {**own, **{name: kind for name, (kind, _) in self.columns.items()}}
        return schema_of(
            {name: kind for name, kind in kinds.items() if kind != "BIG_DECIMAL"},
            metrics={name: kind for name, kind in kinds.items() if kind == "BIG_DECIMAL"},
            multi_values={name: kind for name, (kind, _) in self.multi_values.items()},
            extra=extra if self.in_schema else None,
        )

    def config(self, *, null_handling: bool) -> dict[str, Any]:
        functions = {} if self.in_schema else {name: each for name, (_, each) in self.columns.items()}
        functions |= {name: each for name, (_, each) in self.multi_values.items()} | dict(self.helpers)
        ingestion: dict[str, Any] = {
            "transformConfigs": [
                {"columnName": name, "transformFunction": each} for name, each in functions.items()
            ]
        }
        if self.filter_function is not None:
            ingestion["filterConfig"] = {"filterFunction": self.filter_function}
        return table_config(null_handling=null_handling, ingestionConfig=ingestion)


CASES: Mapping[str, Case] = {
    "epochs": Case(
        {
            "to_days": ("INT", "toEpochDays(ms)"),
            "to_hours": ("LONG", "toEpochHours(ms)"),
            "to_rounded": ("LONG", "toEpochMinutesRounded(ms, 30)"),
            "to_bucket": ("STRING", "toEpochSecondsBucket(ms, 600)"),
            "from_days": ("TIMESTAMP", "fromEpochDays(days)"),
        }
    ),
    "dates": Case(
        {
            "shown": ("STRING", "toDateTime(ms, 'yyyy-MM-dd HH')"),
            "read": ("LONG", "fromDateTime(day_text, 'yyyy-MM-dd')"),
            "days_later": ("INT", "toEpochDays(fromDateTime(day_text, 'yyyy-MM-dd'))"),
        }
    ),
    "texts": Case(
        {
            "lower_name": ("STRING", "lower(name)"),
            "upper_name": ("STRING", "upper(name)"),
            "name_length": ("INT", "length(name)"),
            "name_and_code": ("STRING", "concat(name, code, '-')"),
            "number_as_text": ("STRING", "concat(i, big, '/')"),
        }
    ),
    "numbers": Case(
        {
            "sum": ("DOUBLE", "plus(i, d)"),
            "product": ("FLOAT", "times(i, big)"),
            "less": ("LONG", "plus(big, -5000000000)"),
            "of_whole": ("DOUBLE", "times(whole, 2)"),
        }
    ),
    "renames": Case(
        {
            "i2": ("INT", "i"),
            "i_as_text": ("STRING", "i"),
            "big_as_double": ("DOUBLE", "big"),
            "d_as_text": ("STRING", "d"),
            "o_as_boolean": ("BOOLEAN", "o"),
            "o_as_text": ("STRING", "o"),
            "nothing": ("STRING", "spare"),
            "absent": ("LONG", "unheard_of"),
            "doc_as_json": ("JSON", "doc"),
            "i_as_decimal": ("BIG_DECIMAL", "i"),
            "d_as_decimal": ("BIG_DECIMAL", "d"),
            "code_as_bytes": ("BYTES", "toUtf8(code)"),
        }
    ),
    "paths": Case(
        {
            "b": ("LONG", "jsonPathLong(doc, '$.a.b', -1)"),
            "b_text": ("STRING", "jsonPathString(doc, '$.a.b', 'none')"),
            "a": ("JSON", "jsonPathString(doc, '$.a')"),
        },
        multi_values={"l": ("STRING", "jsonPathArrayDefaultEmpty(doc, '$.l')")},
    ),
    "scripts": Case(
        {
            "plus_one": ("LONG", "Groovy({i + 1}, i)"),
            "both": ("STRING", "Groovy({name + '|' + code}, name, code)"),
            "class_name": ("STRING", "Groovy({i == null ? null : i.getClass().getSimpleName()}, i)"),
            "class_of_big": ("STRING", "Groovy({big.getClass().getSimpleName()}, big)"),
            "class_of_o": ("STRING", "Groovy({o == null ? null : o.getClass().getSimpleName()}, o)"),
            "class_of_d": ("STRING", "Groovy({d == null ? null : d.getClass().getSimpleName()}, d)"),
            "none": ("STRING", "Groovy({'always'})"),
        }
    ),
    "chains": Case(
        {
            "days2": ("INT", "toEpochDays(ms)"),
            "ms2": ("LONG", "fromEpochDays(days2)"),
            "shown2": ("STRING", "toDateTime(helper, 'yyyy-MM-dd')"),
            "code": ("STRING", "upper(name)"),
            "of_code": ("STRING", "concat(code, 'x', '_')"),
        },
        helpers={"helper": "fromEpochDays(days)"},
    ),
    "of the schema": Case(
        {"to_days": ("INT", "toEpochDays(ms)"), "i2": ("STRING", "concat(i, code, '')")}, in_schema=True
    ),
    "a filter alone": Case(filter_function="Groovy({i == 2 || i == null}, i)"),
    "a filter by a function": Case(filter_function="startsWith(code, 'c1')"),
    "a filter by two columns": Case(filter_function="Groovy({i.toString() > '0' && code != 'c2'}, i, code)"),
    "a filter of nothing": Case(filter_function="Groovy({i == 77}, i)"),
    "a filter of a column that is none": Case(filter_function="startsWith(unheard_of, 'x')"),
    "a filter of what is computed": Case(
        {"to_days": ("INT", "toEpochDays(ms)"), "lower_name": ("STRING", "lower(name)")},
        filter_function="Groovy({to_days == null || to_days % 2 == 0}, to_days)",
    ),
    "a filter of all": Case({"i2": ("INT", "i")}, filter_function="Groovy({true}, i)"),
}


def _as_readers_give_it(table: pa.Table) -> pa.Table:
    """Return a table with booleans as texts, as all of Pinot's readers return them."""
    for number, column in enumerate(table.schema):
        if pa.types.is_boolean(column.type):
            table = table.set_column(number, column.name, table[column.name].cast(pa.string()))
    return table


@pytest.mark.every_pinot
@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_arrow_data_gives_what_rows_give(child: SegmentChild, case: str, null_handling: bool) -> None:
    config, schema = CASES[case].config(null_handling=null_handling), CASES[case].schema()
    table = pa.Table.from_pylist(ROWS, schema=ARROW_SCHEMA)
    by_rows = child.build(config, schema, _as_readers_give_it(table), "rows", read_back=True)
    assert "error" not in by_rows
    by_columns = child.build(config, schema, table, "auto", read_back=True)
    assert by_columns == {**by_rows, "reader": "arrow"}


@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("file_name", WRITERS)
@pytest.mark.parametrize("case", CASES)
def test_same_as_pinot(
    child: SegmentChild, source_dir: Path, case: str, file_name: str, null_handling: bool
) -> None:
    path = source_dir / file_name
    child.require_reader(path)
    WRITERS[file_name](path, ROWS)
    config, schema = CASES[case].config(null_handling=null_handling), CASES[case].schema()
    by_pinot = child.build(config, schema, path, "pinot", read_back=True)
    assert "error" not in by_pinot
    by_columns = child.build(config, schema, path, "auto", read_back=True)
    assert by_columns == {**by_pinot, "reader": "arrow"}


def _transforms(filter_function: str | None = None, **functions: str) -> dict[str, Any]:
    configs = [{"columnName": name, "transformFunction": each} for name, each in functions.items()]
    filters = {} if filter_function is None else {"filterConfig": {"filterFunction": filter_function}}
    return table_config(ingestionConfig={"transformConfigs": configs, **filters})


def _built(
    child: SegmentChild, config: dict[str, Any], schema: dict[str, Any], path: Path, reason: str | None
) -> dict[str, Any]:
    """Return the result of both readers; reason: why Pinot's reader is used."""
    child.require_reader(path)
    by_pinot = child.build(config, schema, path, "pinot", read_back=True)
    by_choice = child.build(config, schema, path, "auto", read_back=True)
    if "error" in by_pinot:
        assert reason is not None
        assert by_choice == by_pinot
        refused = child.build(config, schema, path, "arrow")["message"]
        assert reason in refused
        return by_pinot
    if reason is not None:
        assert reason in by_choice["fallback_reason"]
        assert by_choice == {**by_pinot, "fallback_reason": by_choice["fallback_reason"]}
    else:
        assert by_choice == {**by_pinot, "reader": "arrow"}
    return by_pinot


_EXISTING = [{"a": each, "b": "B"} for each in ("x", None, "y", "x", None, "x")]


@pytest.mark.parametrize("file_name", WRITERS)
def test_existing_values_stay(child: SegmentChild, source_dir: Path, file_name: str) -> None:
    path = source_dir / file_name
    if file_name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(_EXISTING), path)
    else:
        WRITERS[file_name](path, _EXISTING)
    schema = schema_of({"a": "STRING", "c": "STRING"})
    built = _built(child, _transforms(a="lower(b)", c="concat(a, b, '')"), schema, path, None)
    assert [(row["a"], row["c"]) for row in built["read"]] == [
        ("x", "xB"), ("b", "bB"), ("y", "yB"), ("x", "xB"), ("b", "bB"), ("x", "xB")
    ]  # fmt: skip
    # A column of the file that the table lacks: it may be the input of others.
    built = _built(child, _transforms(a="lower(b)", c="upper(a)"), schema_of({"c": "STRING"}), path, None)
    assert [row["c"] for row in built["read"]] == ["X", "B", "Y", "X", "B", "X"]


_CLASS = "Groovy({x == null ? null : x.getClass().getSimpleName() + x}, x)"
JSON_CASES: Mapping[str, tuple[str, str, str | None]] = {
    "numbers by their size": ('{"x": 5}\n{"x": -3000000000}\n{}\n', _CLASS, None),
    "fractions": ('{"x": 0.5}\n{"x": -1e-300}\n', _CLASS, None),
    "a whole number among fractions": ('{"x": 0.5}\n{"x": 1}\n', _CLASS, "written with a fraction"),
    "a fraction that is whole": ('{"x": 0.5}\n{"x": 1.0}\n', _CLASS, "written with a fraction"),
    "whole numbers where it is all the same": ('{"x": 0.5}\n{"x": 1}\n{"x": 2.0}\n', "times(x, 2)", None),
    "a large whole number": ('{"x": 0.5}\n{"x": 9007199254740993}\n', _CLASS, "of 2^53 or more"),
    "a number too large": ('{"x": 5}\n{"x": 9223372036854775808}\n', _CLASS, "Arrow cannot read it"),
    "booleans": ('{"x": true}\n{"x": null}\n{"x": false}\n', _CLASS, None),
    "lists": ('{"x": ["a"]}\n', _CLASS, "list values"),
    "objects": ('{"x": {"a": 1}}\n', _CLASS, "dict values"),
    "another kind later": ('{"x": "a"}\n{"x": 1}\n', _CLASS, "Arrow cannot read it"),
    "a text later": ('{"s": "a"}\n' * 30_000 + '{"x": "late"}\n', _CLASS, None),
    "a number later": ('{"s": "a"}\n' * 30_000 + '{"x": 5}\n', _CLASS, "Arrow cannot read it"),
    "a function that throws": ('{"x": "a"}\n{"x": "b"}\n', "fromDateTime(x, 'yyyy')", "fromDateTime"),
    "a result that does not fit": ('{"x": "a"}\n', "Groovy({['k': 1, 'l': 2]}, x)", "column s"),
    "half of a character": ('{"x": "a"}\n', "Groovy({'\\ud800' + x}, x)", "transform of column s"),
}


@pytest.mark.parametrize("case", JSON_CASES)
def test_arguments_of_json(child: SegmentChild, source_dir: Path, case: str) -> None:
    text, function, reason = JSON_CASES[case]
    path = source_dir / "rows.json"
    path.write_text(text)
    # The file's own s only produces rows.
    schema = schema_of({"t": "STRING", "u": "STRING"})
    config = _transforms(t=function.replace("column s", "t"), u="upper(s)")
    _built(child, config, schema, path, None if reason is None else reason.replace("column s", "column t"))


def test_arguments_of_csv(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.csv"
    schema = schema_of({"t": "STRING"}, multi_values={"m": "STRING"})
    config = _transforms(t="Groovy({x == null ? 'none' : x.getClass().getSimpleName() + x}, x)")
    for text, reason in (
        ("x,m\n1,a;b\n,c\n;x,d\n", None),
        ("x,m\n1;2,a;b\n", "is used as single-value"),
    ):
        path.write_text(text)
        _built(child, config, schema, path, reason)
    # One column, stored as lists and used as the argument of a function.
    path.write_text("m\na\n\nb\n")
    _built(child, _transforms(t="upper(m)"), schema, path, None)
    path.write_text("m\na;b\n")
    _built(child, _transforms(t="Groovy({m.length + ''}, m)"), schema, path, "is used as single-value")


def test_arguments_of_parquet(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.parquet"
    micros = pa.array([1_600_000_000_123_456, -1, None], pa.int64())
    columns = {
        "int8": pa.array([1, None, -1], pa.int8()),
        "uint16": pa.array([1, None, 65535], pa.uint16()),
        "single": pa.array([0.1, None, -0.0], pa.float32()),
        "fraction": pa.array([float("nan"), None, 0.0]),
        "day": pa.array([18_000, None, -1], pa.date32()),
        "stamp": micros.cast(pa.timestamp("us", "UTC")),
        "text": pa.array(["a", None, "a"]).dictionary_encode(),
        "truth": pa.array([True, None, False]),
        "bytes": pa.array([b"\x00a", None, b""], pa.binary()),
    }
    pq.write_table(pa.table(columns), path)
    show = "Groovy({{ {0} == null ? null : {0}.getClass().getSimpleName() + {0} }}, {0})"
    functions = {f"of_{name}": show.format(name) for name in columns if name != "bytes"}
    functions["of_bytes"] = "Groovy({ bytes == null ? null : bytes.encodeHex().toString() }, bytes)"
    schema = schema_of({**dict.fromkeys(functions, "STRING"), "single": "DOUBLE"})
    built = _built(child, _transforms(**functions), schema, path, None)
    first = built["read"][0]
    assert (first["of_int8"], first["of_truth"], first["of_bytes"]) == ("Integer1", "Stringtrue", "0061")
    assert first["of_stamp"] == "Long1600000000123456"
    # A time column has the table's unit, also for functions, and is an Integer if that is its type.
    schema["dateTimeFieldSpecs"] = [
        {"name": "stamp", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    ]
    built = _built(child, _transforms(**functions), schema, path, None)
    assert built["read"][0]["of_stamp"] == "Integer18518"
    for column, reason in (
        (pa.array([["a"]]), "has lists"),
        (pa.array([{"x": 1}]), "is nested"),
        (pa.array(["1.5"]).cast(pa.decimal128(5, 2)), "is stored as FIXED_LEN_BYTE_ARRAY"),
    ):
        pq.write_table(pa.table({"x": column}), path)
        config = _transforms(t="Groovy({ 'x' + (x == null) }, x)")
        _built(child, config, schema_of({"t": "STRING"}), path, reason)


def test_rows_that_are_dropped_are_converted_as_pinot_does(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.csv"
    kinds = {"i": "INT", "j": "JSON", "t": "TIMESTAMP"}
    dropped = "Groovy({drop == 'y'}, drop)"
    rows = {
        "all is well": ("1,{},2020-01-01 00:00:00,y", None),
        "no values": (",,,y", None),
        "no number": ("one,{},2020-01-01 00:00:00,y", "unexpected characters"),
        "no time": ("1,{},noon,y", "column t of a dropped row"),
    }
    for text, reason in rows.values():
        path.write_text(f"i,j,t,drop\n2,{{}},2020-01-02 00:00:00,n\n{text}\n")
        config = _transforms(dropped)
        # Since 1.0 such a row is dropped before its values are converted.
        built = _built(
            child, config, schema_of(kinds), path, None if child.features["is_pinot_1"] else reason
        )
        assert built.get("rows") == (1 if reason is None or child.features["is_pinot_1"] else None)


def test_functions_that_pinot_does_not_take(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.csv"
    path.write_text("x\n1\n")
    for reader in ("auto", "arrow", "pinot"):
        failed = child.build(_transforms(t="noSuchFunction(x)"), schema_of({"t": "STRING"}), path, reader)
        assert failed["error"] == "ConfigError"
        assert "Pinot cannot read the table's transforms" in failed["message"]


def test_many_files_and_batches(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of({"n": "INT", "twice": "LONG", "text": "STRING"})
    config = _transforms("Groovy({n % 3 == 0}, n)", twice="times(n, 2)", text="concat(word, word, '-')")
    paths = []
    for number in range(3):
        paths.append(source_dir / f"{number}.parquet")
        values = range(number * 50_000, (number + 2) * 50_000)
        table = {"n": pa.array(values, pa.int32()), "word": [f"w{value % 100}" for value in values]}
        pq.write_table(pa.table(table), paths[-1], row_group_size=30_000)
    by_columns = child.build_files(config, schema, paths, "arrow", 90_000)
    assert [each["rows"] for each in by_columns["segments"]] == [90_000, 90_000, 20_000]
    child.require_reader(paths[0])
    by_pinot = child.build_files(config, schema, paths, "pinot", 90_000)
    assert [each["crc"] for each in by_columns["segments"]] == [each["crc"] for each in by_pinot["segments"]]


_EACH_RUN, _FULL = 120, 2_000


@pytest.mark.every_pinot
def test_random_tables(child: SegmentChild, request: pytest.FixtureRequest) -> None:
    first = (request.config.option.seed or 0) * _FULL
    count = _FULL if request.config.option.full else _EACH_RUN
    refused, built = [], 0
    for number in range(first, first + count):
        table = random_table(number, of_pinot_1=child.features["is_pinot_1"])
        table = with_random_expressions(table, number, of_existing=True)
        if table.has_build_time:
            continue
        by_columns = child.build(table.config, table.schema, table.rows, "arrow")
        by_rows = child.build(table.config, table.schema, _as_readers_give_it(table.rows), "rows")
        if "error" in by_columns:
            refused += [] if "error" in by_rows else [by_columns["message"]]
            continue
        assert "error" not in by_rows, f"table {number}: {by_rows}; {table}"
        same = ("crc", "rows", "segment_size_bytes")
        found, expected = ([built.get(key) for key in same] for built in (by_columns, by_rows))
        assert found == expected, f"table {number}: {by_columns} is not {by_rows}; {table}"
        built += 1
    assert built > count // 2, refused
    assert len(refused) < count // 4, refused
