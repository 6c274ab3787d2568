"""Transforms and filters over columns give the same segment as Pinot's own reader, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.plain_files import write_avro, write_csv, write_json, write_parquet
from tests.contract.random_tables import as_readers_give_it
from tests.contract.same_segments import same_as_pinot
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import arrow_schema, schema_of, table_config
from tests.support.tiers import FULL

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
_KINDS = {"ms": "LONG", "big": "LONG", "days": "INT", "i": "INT", "o": "BOOLEAN"}
_KINDS |= {"d": "DOUBLE", "whole": "DOUBLE"}
ARROW_SCHEMA = arrow_schema(schema_of({name: _KINDS.get(name, "STRING") for name in ROWS[0]}))
_OWN = {"code": "STRING", "i": "INT", "big": "LONG", "o": "BOOLEAN"}
"""Columns that are stored unchanged, whether or not functions use them too."""


WRITERS: Mapping[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "rows.csv": write_csv,
    "rows.json": write_json,
    "rows.parquet": partial(write_parquet, schema=ARROW_SCHEMA),
    "rows.avro": partial(write_avro, schema=ARROW_SCHEMA),
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
        columns = {} if self.in_schema else {**self.columns, **self.multi_values}
        functions = {name: function for name, (_, function) in columns.items()}
        return _transforms(
            self.filter_function, null_handling=null_handling, functions={**functions, **self.helpers}
        )


def _transforms(
    filter_function: str | None = None,
    *,
    null_handling: bool = True,
    functions: Mapping[str, str] | None = None,
    **more: str,
) -> dict[str, Any]:
    """Return a table config with transforms, by the column that they compute."""
    transforms = {**(functions or {}), **more}
    configs = [{"columnName": name, "transformFunction": each} for name, each in transforms.items()]
    filters = {} if filter_function is None else {"filterConfig": {"filterFunction": filter_function}}
    ingestion = {"transformConfigs": configs, **filters}
    return table_config(null_handling=null_handling, ingestionConfig=ingestion)


CASES: Mapping[str, Case] = {
    "functions": Case(
        {
            "to_days": ("INT", "toEpochDays(ms)"),
            "to_hours": ("LONG", "toEpochHours(ms)"),
            "to_rounded": ("LONG", "toEpochMinutesRounded(ms, 30)"),
            "to_bucket": ("STRING", "toEpochSecondsBucket(ms, 600)"),
            "from_days": ("TIMESTAMP", "fromEpochDays(days)"),
            "shown": ("STRING", "toDateTime(ms, 'yyyy-MM-dd HH')"),
            "read": ("LONG", "fromDateTime(day_text, 'yyyy-MM-dd')"),
            "days_later": ("INT", "toEpochDays(fromDateTime(day_text, 'yyyy-MM-dd'))"),
            "lower_name": ("STRING", "lower(name)"),
            "upper_name": ("STRING", "upper(name)"),
            "name_length": ("INT", "length(name)"),
            "name_and_code": ("STRING", "concat(name, code, '-')"),
            "number_as_text": ("STRING", "concat(i, big, '/')"),
            "sum": ("DOUBLE", "plus(i, d)"),
            "product": ("FLOAT", "times(i, big)"),
            "less": ("LONG", "plus(big, -5000000000)"),
            "of_whole": ("DOUBLE", "times(whole, 2)"),
            "b": ("LONG", "jsonPathLong(doc, '$.a.b', -1)"),
            "b_text": ("STRING", "jsonPathString(doc, '$.a.b', 'none')"),
            "a": ("JSON", "jsonPathString(doc, '$.a')"),
        },
        multi_values={"l": ("STRING", "jsonPathArrayDefaultEmpty(doc, '$.l')")},
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


@pytest.mark.every_pinot
@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_arrow_data_gives_what_rows_give(child: SegmentChild, case: str, null_handling: bool) -> None:
    config, schema = CASES[case].config(null_handling=null_handling), CASES[case].schema()
    table = pa.Table.from_pylist(ROWS, schema=ARROW_SCHEMA)
    rows = table if child.features["keeps_source_types"] else as_readers_give_it(table)
    by_rows = child.build(config, schema, rows, "rows", read_back=True)
    assert "error" not in by_rows
    by_columns = child.build(config, schema, table, "auto", read_back=True)
    assert by_columns == {**by_rows, "reader": "arrow"}


def _formats_of_cases() -> list[Any]:
    """By default functions in all formats, and each other case in one."""
    found = []
    for number, case in enumerate(CASES):
        for place, file_name in enumerate(WRITERS):
            for null_handling in (True, False):
                is_chosen = case == "functions" or place == number % len(WRITERS)
                marks = () if is_chosen and null_handling else FULL
                found.append(pytest.param(case, file_name, null_handling, marks=marks))
    return found


@pytest.mark.parametrize(("case", "file_name", "null_handling"), _formats_of_cases())
def test_same_as_pinot(
    child: SegmentChild, tmp_path: Path, case: str, file_name: str, null_handling: bool
) -> None:
    path = tmp_path / file_name
    WRITERS[file_name](path, ROWS)
    config, schema = CASES[case].config(null_handling=null_handling), CASES[case].schema()
    same_as_pinot(child, schema, path, config=config)


_EXISTING = [{"a": each, "b": "B"} for each in ("x", None, "y", "x", None, "x")]


@pytest.mark.parametrize("file_name", WRITERS)
def test_existing_values_stay(child: SegmentChild, tmp_path: Path, file_name: str) -> None:
    path = tmp_path / file_name
    WRITERS[file_name](path, _EXISTING)
    schema = schema_of({"a": "STRING", "c": "STRING"})
    config = _transforms(a="lower(b)", c="concat(a, b, '')")
    built = same_as_pinot(child, schema, path, config=config)
    assert [(row["a"], row["c"]) for row in built["read"]] == [
        ("x", "xB"), ("b", "bB"), ("y", "yB"), ("x", "xB"), ("b", "bB"), ("x", "xB")
    ]  # fmt: skip
    # A column of the file that the table lacks: it may be the input of others.
    config = _transforms(a="lower(b)", c="upper(a)")
    built = same_as_pinot(child, schema_of({"c": "STRING"}), path, config=config)
    assert [row["c"] for row in built["read"]] == ["X", "B", "Y", "X", "B", "X"]


# More than is read before a file is planned.
_EARLIER = f'{{"s": "{"a" * 200}"}}\n' * 1_500
_CLASS = "Groovy({x == null ? null : x.getClass().getSimpleName() + x}, x)"
JSON_CASES: Mapping[str, tuple[str, str, str | None]] = {
    "numbers by their size": ('{"x": 5}\n{"x": -3000000000}\n{}\n', _CLASS, None),
    "fractions": ('{"x": 0.5}\n{"x": -1e-300}\n', _CLASS, None),
    "a whole number among fractions": ('{"x": 0.5}\n{"x": 1}\n', _CLASS, "written with a fraction"),
    "a fraction that is whole": ('{"x": 0.5}\n{"x": 1.0}\n', _CLASS, "written with a fraction"),
    "whole numbers where it is all the same": ('{"x": 0.5}\n{"x": 1}\n{"x": 2.0}\n', "times(x, 2)", None),
    "a large whole number": ('{"x": 0.5}\n{"x": 9007199254740993}\n', _CLASS, "of 2^53 or more"),
    "a number too large": ('{"x": 5}\n{"x": 9223372036854775808}\n', _CLASS, "a number that is too large"),
    "booleans": ('{"x": true}\n{"x": null}\n{"x": false}\n', _CLASS, None),
    "lists": ('{"x": ["a"]}\n', _CLASS, "has lists"),
    "objects": ('{"x": {"a": 1}}\n', _CLASS, "has objects"),
    "another kind later": ('{"x": "a"}\n{"x": 1}\n', _CLASS, "not of the type of the first rows"),
    "a text later": (_EARLIER + '{"x": "late"}\n', _CLASS, None),
    "a number later": (_EARLIER + '{"x": 5}\n', _CLASS, "not of the type of the first rows"),
    "a function that throws": ('{"x": "a"}\n{"x": "b"}\n', "fromDateTime(x, 'yyyy')", "fromDateTime"),
    "a result that is a map": ('{"x": "a"}\n', "Groovy({['k': 1, 'l': 2]}, x)", None),
    "half of a character": ('{"x": "a"}\n', "Groovy({'\\ud800' + x}, x)", "transform of column s"),
}


@pytest.mark.parametrize("case", JSON_CASES)
def test_arguments_of_json(child: SegmentChild, tmp_path: Path, case: str) -> None:
    text, function, reason = JSON_CASES[case]
    path = tmp_path / "rows.json"
    path.write_text(text)
    # The file's own s only produces rows.
    schema = schema_of({"t": "STRING", "u": "STRING"})
    config = _transforms(t=function.replace("column s", "t"), u="upper(s)")
    # Pinot alone refuses such a result, and its map has another class.
    alone = case not in ("a result that is a map", "objects")
    reason = reason and reason.replace("column s", "column t")
    same_as_pinot(child, schema, path, reason, config=config, alone=alone)


def test_arguments_of_csv(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    schema = schema_of({"t": "STRING"}, multi_values={"m": "STRING"})
    config = _transforms(t="Groovy({x == null ? 'none' : x.getClass().getSimpleName() + x}, x)")
    for text, reason in (
        ("x,m\n1,a;b\n,c\n;x,d\n", None),
        ("x,m\n1;2,a;b\n", "is used as single-value"),
    ):
        path.write_text(text)
        same_as_pinot(child, schema, path, reason, config=config)
    # One column, stored as lists and used as the argument of a function.
    path.write_text("m\na\n\nb\n")
    same_as_pinot(child, schema, path, config=_transforms(t="upper(m)"))
    path.write_text("m\na;b\n")
    config = _transforms(t="Groovy({m.length + ''}, m)")
    same_as_pinot(child, schema, path, "is used as single-value", config=config)


def test_arguments_of_parquet(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
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
    built = same_as_pinot(child, schema, path, config=_transforms(functions=functions))
    first = built["read"][0]
    assert (first["of_int8"], first["of_bytes"]) == ("Integer1", "0061")
    of_others = (first["of_truth"], first["of_day"], first["of_stamp"][:19])
    if child.features["keeps_source_types"]:
        assert of_others == ("Booleantrue", "LocalDate2019-04-14", "Timestamp2020-09-13")
    else:
        assert of_others == ("Stringtrue", "Integer18000", "Long160000000012345")
    # A time column has the table's unit, also for functions, and is an Integer if that is its type.
    schema["dateTimeFieldSpecs"] = [
        {"name": "stamp", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    ]
    built = same_as_pinot(child, schema, path, config=_transforms(functions=functions), alone=False)
    assert built["read"][0]["of_stamp"] == "Integer18518"
    for column, reason in (
        (pa.array([["a"]]), "values and is used by a transform"),
        (pa.array([{"x": 1}]), "values and is used by a transform"),
        (pa.array(["1.5"]).cast(pa.decimal128(5, 2)), "values and is used by a transform"),
    ):
        pq.write_table(pa.table({"x": column}), path)
        config = _transforms(t="Groovy({ 'x' + (x == null) }, x)")
        same_as_pinot(child, schema_of({"t": "STRING"}), path, reason, config=config, alone=False)


def test_rows_that_are_dropped_are_converted_as_pinot_does(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
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
        reason = None if child.features["is_pinot_1"] else reason
        built = same_as_pinot(child, schema_of(kinds), path, reason, config=config)
        assert built.get("rows") == (1 if reason is None else None)


def test_functions_that_pinot_does_not_take(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n")
    for reader in ("auto", "arrow", "pinot"):
        failed = child.build(_transforms(t="noSuchFunction(x)"), schema_of({"t": "STRING"}), path, reader)
        assert failed["error"] == "ConfigError"
        assert "Pinot cannot read the table's transforms" in failed["message"]


def test_many_files_and_batches(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"n": "INT", "twice": "LONG", "text": "STRING"})
    config = _transforms("Groovy({n % 3 == 0}, n)", twice="times(n, 2)", text="concat(word, word, '-')")
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.parquet")
        values = range(number * 10_000, (number + 2) * 10_000)
        table = {"n": pa.array(values, pa.int32()), "word": [f"w{value % 100}" for value in values]}
        pq.write_table(pa.table(table), paths[-1], row_group_size=6_000)
    by_columns = child.build_files(config, schema, paths, "arrow", 18_000)
    assert [each["rows"] for each in by_columns["segments"]] == [18_000, 18_000, 4_000]
    by_pinot = child.build_files(config, schema, paths, "pinot", 18_000)
    assert [each["crc"] for each in by_columns["segments"]] == [each["crc"] for each in by_pinot["segments"]]
